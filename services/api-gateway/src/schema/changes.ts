import { z } from 'zod';
import { call } from './calls.ts';
import { components, namedObject, callId, timestamp } from './common.ts';

const callChanged = namedObject('CallChanged', 'A call was created or changed. Replace what you have of it.', {
  type: z.literal('call.changed').describe('Which kind of change this is.'),
  call_id: callId('The `call_id` of the call.'),
  changed_at: timestamp('The `updated_at` of the call.'),
  call: call.optional().describe('The call in full. There with `expand=detail` only.'),
});

const callDeleted = namedObject('CallDeleted', 'A call was deleted. Delete what you have of it, if you have anything.', {
  type: z.literal('call.deleted').describe('Which kind of change this is.'),
  call_id: callId('The `call_id` of the call.'),
  changed_at: timestamp('When the call was deleted.'),
});

const accessChanged = namedObject(
  'AccessChanged',
  "The organization's fields, or whether it anonymizes names, changed. All calls follow again, as they look under the new settings.",
  {
    type: z.literal('access.changed').describe('Which kind of change this is.'),
    call_id: z.null().describe('The change concerns every call.'),
    changed_at: timestamp('When the settings changed.'),
  },
);

const change = z
  .discriminatedUnion('type', [callChanged, callDeleted, accessChanged])
  .describe('A change. `type` tells which.')
  .register(components, { id: 'Change' });

export const changeList = namedObject('ChangeList', 'A page of changes.', {
  data: z.array(change).describe('The changes of this page, in the order in which they were committed.'),
  next_cursor: z.string().meta({
    description: 'Send it as `cursor` to go on. Opaque. Keep it with the changes of this page.',
    examples: ['q83vEjRW'],
  }),
  has_more: z.boolean().describe('Whether more changes are there now. False: come again later with `next_cursor`.'),
});

import { z } from 'zod';
import { call } from './calls.ts';
import { components, namedObject, callId, timestamp, uuid } from './common.ts';
import { entity } from './entities.ts';
import { projectListItem } from './projects.ts';

export const callChanged = namedObject('CallChanged', 'A call was created or changed. Replace your copy of it.', {
  type: z.literal('call.changed').describe('The kind of change.'),
  call_id: callId('The `call_id` of the call.'),
  changed_at: timestamp('The `updated_at` of the call.'),
  call: call.optional().describe('The call in full. Present only with `expand=detail`.'),
});

export const callDeleted = namedObject('CallDeleted', 'A call was deleted. Delete your copy of it, if you have one.', {
  type: z.literal('call.deleted').describe('The kind of change.'),
  call_id: callId('The `call_id` of the call.'),
  changed_at: timestamp('When the call was deleted.'),
});

const projectChanged = namedObject('ProjectChanged', 'A project was created or changed. Replace your copy of it.', {
  type: z.literal('project.changed').describe('The kind of change.'),
  project_id: uuid('The `project_id` of the project.'),
  changed_at: timestamp('When the project was created or changed.'),
  project: projectListItem.optional().describe('The project as `GET /projects` lists it. Present only with `expand=detail`.'),
});

const projectDeleted = namedObject('ProjectDeleted', 'A project was deleted. Delete your copy of it, if you have one.', {
  type: z.literal('project.deleted').describe('The kind of change.'),
  project_id: uuid('The `project_id` of the project.'),
  changed_at: timestamp('When the project was deleted.'),
});

const entityChanged = namedObject('EntityChanged', 'An entity was created or changed. Replace your copy of it.', {
  type: z.literal('entity.changed').describe('The kind of change.'),
  entity_id: uuid('The `entity_id` of the entity.'),
  changed_at: timestamp('When the entity was created or changed.'),
  entity: entity.optional().describe('The entity as `GET /entities` lists it. Present only with `expand=detail`.'),
});

const entityDeleted = namedObject('EntityDeleted', 'An entity was deleted. Delete your copy of it, if you have one.', {
  type: z.literal('entity.deleted').describe('The kind of change.'),
  entity_id: uuid('The `entity_id` of the entity.'),
  changed_at: timestamp('When the entity was deleted.'),
});

export const accessChanged = namedObject(
  'AccessChanged',
  "The organization's allowed fields or its anonymization of names changed. All records follow again, rendered with the new settings.",
  {
    type: z.literal('access.changed').describe('The kind of change.'),
    call_id: z.null().describe('Always null: the change affects every record.'),
    changed_at: timestamp('When the settings changed.'),
  },
);

const change = z
  .discriminatedUnion('type', [
    callChanged,
    callDeleted,
    projectChanged,
    projectDeleted,
    entityChanged,
    entityDeleted,
    accessChanged,
  ])
  .describe('A change. `type` is its kind.')
  .register(components, { id: 'Change' });

export const changeList = namedObject('ChangeList', 'A page of changes.', {
  data: z.array(change).describe('The changes of this page, each type in the order in which its changes were committed.'),
  next_cursor: z.string().meta({
    description: 'Send it as `cursor` to continue. Opaque. Store it together with the changes of this page.',
    examples: ['q83vEjRW'],
  }),
  has_more: z.boolean().describe('Whether more changes are available now. False: poll again later with `next_cursor`.'),
});

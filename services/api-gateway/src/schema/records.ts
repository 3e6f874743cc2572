import { z } from 'zod';
import { MAX_LINE_BYTES } from '@crs/records/import-record';
import type { JsonSchema } from '../openapi/json-schema.ts';
import type { RefusalExample } from '../route.ts';
import callBodies from './call-bodies.json' with { type: 'json' };
import { callId, lineError, namedObject } from './common.ts';

/** The bodies of `PUT` and `PATCH /calls/{call_id}`. Generated from the schemas by which the calls service validates lines. */
export const { whole: callRecordSchema, change: callChangeSchema }: Record<'whole' | 'change', JsonSchema> = callBodies;

export const callPath = z.object({
  call_id: z.string().meta({ description: 'Identifies the call within the organization.', example: 'call_8kq2' }),
});

const count = (description: string) => z.int32().min(0).describe(description);

export const recordsResult = namedObject('RecordsResult', 'What became of the lines.', {
  lines: count('Lines of the body, blank ones included.'),
  accepted: count('Lines that changed something.'),
  unchanged: count('Lines that changed nothing, because it was stored already.'),
  refused: count('Lines that were not stored.'),
  errors: z.array(lineError).describe('Why lines were refused, in order.'),
});

const resultOf = (id: string, results: [string, ...string[]]) =>
  namedObject(id, 'What became of the call.', {
    call_id: callId('Identifies the call.'),
    result: z.enum(results).describe('`unchanged`: it was stored like this already.'),
  });

export const putCallResult = resultOf('PutCallResult', ['created', 'replaced', 'unchanged']);
export const patchCallResult = resultOf('PatchCallResult', ['merged', 'unchanged']);

export const CALL_BODY_REFUSALS: Record<number, RefusalExample> = {
  408: { when: 'The body did not arrive within 5 s.', message: 'The body did not arrive within 5 s.' },
  409: {
    when: 'A legal hold keeps the call in its project; the message has its id.',
    message: 'project_id: must not change: the legal hold 0f2d7c1e-4f0e-4a77-9a38-5d1f6f3f6a10 keeps the call',
  },
  413: { when: 'The body is larger than 8 MiB.', message: `The body is larger than ${MAX_LINE_BYTES} bytes.` },
  415: {
    when: 'The body is not JSON in UTF-8, or it is compressed.',
    message: 'The body must be JSON in UTF-8: send "Content-Type: application/json".',
  },
};

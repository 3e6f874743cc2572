import type { z } from 'zod';
import { callsChangedMessage, pingMessage } from '../schema/webhooks.ts';
import { refTo } from './json-schema.ts';

const HEADERS = [
  ['webhook-id', 'Identifies the message. Repeated deliveries have the same id, and the same body.', 'msg_2f6c'],
  ['webhook-timestamp', 'When this delivery was sent, in seconds since 1970 (UTC).', '1767225600'],
  [
    'webhook-signature',
    'One or more signatures, separated by spaces: `v1,` and the HMAC-SHA256 of `ID.TIMESTAMP.BODY` in base64, under the bytes of the secret.',
    'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
  ],
];

/** The requests that the service sends to an organization's endpoints. */
export function webhookObjects(): Record<string, object> {
  return {
    'calls.changed': webhookObject('receiveChanges', 'Calls changed', callsChangedMessage, {
      type: 'calls.changed',
      timestamp: '2026-03-02T09:30:00.000Z',
      data: {
        changes: [{ type: 'call.changed', call_id: 'call_8kq2', changed_at: '2026-03-02T09:29:59.120Z' }],
        has_more: false,
      },
    }),
    ping: webhookObject('receivePing', 'Test of the endpoint', pingMessage, {
      type: 'ping',
      timestamp: '2026-03-02T09:30:00.000Z',
      data: {},
    }),
  };
}

function webhookObject(operationId: string, summary: string, schema: z.ZodType, example: object): object {
  return {
    post: {
      operationId,
      tags: ['Webhooks'],
      summary,
      description: 'Verify the signature, then respond with 2xx within 10 seconds. Otherwise the message is sent again.',
      security: [],
      parameters: HEADERS.map(([name, description, value]) => ({
        name,
        in: 'header',
        required: true,
        description,
        schema: { type: 'string' },
        example: value,
      })),
      requestBody: {
        description: 'The message.',
        required: true,
        content: { 'application/json': { schema: refTo(schema), examples: { message: { summary, value: example } } } },
      },
      responses: {
        204: { description: 'Accepted.' },
        410: { description: 'The endpoint wants no more messages, and is disabled.' },
      },
    },
  };
}

/** The messages that the service sends to webhook endpoints. */
import { z } from 'zod';
import { accessChanged, callChanged, callDeleted } from './changes.ts';
import { components, namedObject, timestamp } from './common.ts';

const webhookChange = z
  .discriminatedUnion('type', [callChanged, callDeleted, accessChanged])
  .describe('A change, without the call. After `access.changed`, all calls look different: read all again.')
  .register(components, { id: 'WebhookChange' });

const changes = namedObject('CallsChangedData', 'The changes that a message tells of.', {
  changes: z.array(webhookChange).min(1).max(100).describe('In the order in which they were committed.'),
  has_more: z.boolean().describe('Whether another message follows at once.'),
});

const sentAt = timestamp('When the message was made. Repeated deliveries have the same value.');

export const callsChangedMessage = namedObject('CallsChangedMessage', 'Calls changed or were deleted.', {
  type: z.literal('calls.changed').describe('The kind of message.'),
  timestamp: sentAt,
  data: changes.describe('The changes.'),
});

export const pingMessage = namedObject('PingMessage', 'The operator tests the endpoint.', {
  type: z.literal('ping').describe('The kind of message.'),
  timestamp: sentAt,
  data: namedObject('PingData', 'Empty.', {}).describe('Empty.'),
});

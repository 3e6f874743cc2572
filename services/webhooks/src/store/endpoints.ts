import * as column from '@crs/kit/data/column';
import type { Statement } from '@crs/kit/data/database';

const SHOWN = {
  webhookId: column.text,
  url: column.text,
  disabledBy: column.oneOf<'operator' | 'gone' | 'failing'>().orNull,
  createdAt: column.timestamp,
  failingSince: column.timestamp.orNull,
};
/** An endpoint as operators see it. */
export type ShownEndpoint = column.RowOf<typeof SHOWN>;

const ENDPOINT = {
  ...SHOWN,
  organizationCreatedAt: column.timestamp,
  secretEncrypted: column.bytes,
  previousSecretEncrypted: column.bytes.orNull,
  previousUntil: column.timestamp.orNull,
  cursor: column.text,
  failures: column.integer,
  messageId: column.text.orNull,
  messageBody: column.text.orNull,
  messageCursor: column.text.orNull,
};
export type Endpoint = column.RowOf<typeof ENDPOINT>;

const SHOWN_COLUMNS = column.selectList(SHOWN);
const OF_ENDPOINT = 'where organization = $1 and webhook_id = $2';

export function findEndpoint(organization: string, webhookId: string): Statement<Endpoint> {
  return {
    name: 'find_endpoint',
    row: ENDPOINT,
    text: `select ${column.selectList(ENDPOINT)} from webhooks.endpoints ${OF_ENDPOINT}`,
    values: [organization, webhookId],
  };
}

const LISTED = { ...SHOWN, slot: column.integer };

export function listEndpoints(organization: string): Statement<column.RowOf<typeof LISTED>> {
  return {
    name: 'list_endpoints',
    row: LISTED,
    text: `select ${SHOWN_COLUMNS}, slot from webhooks.endpoints where organization = $1 order by created_at, webhook_id`,
    values: [organization],
  };
}

interface NewEndpoint extends Pick<
  Endpoint,
  'webhookId' | 'url' | 'secretEncrypted' | 'cursor' | 'createdAt' | 'organizationCreatedAt'
> {
  slot: number;
}

/** No row if another request took the slot. */
export function insertEndpoint(
  organization: string,
  { webhookId, slot, organizationCreatedAt, url, secretEncrypted, createdAt, cursor }: NewEndpoint,
): Statement<ShownEndpoint> {
  return {
    name: 'insert_endpoint',
    row: SHOWN,
    text: `insert into webhooks.endpoints
        (organization, webhook_id, slot, organization_created_at, url, secret_encrypted, created_at, cursor)
      values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict do nothing returning ${SHOWN_COLUMNS}`,
    values: [organization, webhookId, slot, organizationCreatedAt, url, secretEncrypted, createdAt, cursor],
  };
}

/** Keeps the secret until now as the previous one. No row while an earlier one still signs. */
export function replaceSecret(
  organization: string,
  webhookId: string,
  secretEncrypted: Buffer,
  { previousUntil, now }: { previousUntil: Date; now: Date },
): Statement<ShownEndpoint> {
  return {
    name: 'replace_secret',
    row: SHOWN,
    text: `update webhooks.endpoints
      set previous_secret_encrypted = secret_encrypted, previous_until = $4, secret_encrypted = $3
      ${OF_ENDPOINT} and (previous_until is null or previous_until <= $5) returning ${SHOWN_COLUMNS}`,
    values: [organization, webhookId, secretEncrypted, previousUntil, now],
  };
}

/** Changes an endpoint's state, and begins a new count of failures. @param disabledBy null: enables it */
export function setDisabled(
  organization: string,
  webhookId: string,
  disabledBy: ShownEndpoint['disabledBy'],
): Statement<ShownEndpoint> {
  return {
    name: 'set_disabled',
    row: SHOWN,
    text: `update webhooks.endpoints set disabled_by = $3, failures = 0, failing_since = null ${OF_ENDPOINT}
      returning ${SHOWN_COLUMNS}`,
    values: [organization, webhookId, disabledBy],
  };
}

const ID = { webhookId: column.text };

export function deleteEndpoint(organization: string, webhookId: string): Statement<column.RowOf<typeof ID>> {
  return {
    name: 'delete_endpoint',
    row: ID,
    text: `delete from webhooks.endpoints ${OF_ENDPOINT} returning webhook_id as "webhookId"`,
    values: [organization, webhookId],
  };
}

/** Lists endpoints of an earlier organization of the same id. */
export function findEarlier(organization: string, createdAt: Date): Statement<column.RowOf<typeof ID>> {
  return {
    name: 'find_earlier',
    row: ID,
    text: `select webhook_id as "webhookId" from webhooks.endpoints where organization = $1 and organization_created_at <> $2`,
    values: [organization, createdAt],
  };
}

export function eraseEndpoints(organization: string): Statement {
  return { name: 'erase_endpoints', text: 'delete from webhooks.endpoints where organization = $1', values: [organization] };
}

interface NewMessage {
  messageId: string;
  body: string;
  /** How far the endpoint will have read the feed once the message is delivered. */
  cursor: string;
}

/** Stores the message to deliver next. No row if another sender stored one. @param cursor the endpoint's, from which the message was made */
export function putMessage(
  organization: string,
  webhookId: string,
  cursor: string,
  message: NewMessage,
): Statement<column.RowOf<typeof ID>> {
  return {
    name: 'put_message',
    row: ID,
    text: `update webhooks.endpoints set message_id = $4, message_body = $5, message_cursor = $6
      ${OF_ENDPOINT} and cursor = $3 and message_id is null and disabled_by is null returning webhook_id as "webhookId"`,
    values: [organization, webhookId, cursor, message.messageId, message.body, message.cursor],
  };
}

/** No row if another sender delivered the message meanwhile. */
export function removeDelivered(organization: string, webhookId: string, messageId: string): Statement<column.RowOf<typeof ID>> {
  return {
    name: 'remove_delivered',
    row: ID,
    text: `update webhooks.endpoints set cursor = message_cursor, message_id = null, message_body = null, message_cursor = null,
        failures = 0, failing_since = null
      ${OF_ENDPOINT} and message_id = $3 returning webhook_id as "webhookId"`,
    values: [organization, webhookId, messageId],
  };
}

/** @param disabledBy why the endpoint gets no more messages; null: it is tried again */
export function countFailure(
  organization: string,
  webhookId: string,
  messageId: string,
  at: Date,
  disabledBy: ShownEndpoint['disabledBy'],
): Statement<column.RowOf<typeof ID>> {
  return {
    name: 'count_failure',
    row: ID,
    text: `update webhooks.endpoints set failures = failures + 1, failing_since = coalesce(failing_since, $4::timestamptz),
        disabled_by = coalesce(disabled_by, $5)
      ${OF_ENDPOINT} and message_id = $3 returning webhook_id as "webhookId"`,
    values: [organization, webhookId, messageId, at, disabledBy],
  };
}

import * as column from '@crs/kit/data/column';
import type { Statement } from '@crs/kit/data/database';

/** The attempts that are kept for each endpoint. */
const KEPT = 50;

const DELIVERY = {
  at: column.timestamp,
  messageId: column.text,
  messageType: column.text,
  status: column.integer.orNull,
  problem: column.text.orNull,
  durationMs: column.integer,
};
/** An attempt to deliver a message. */
export type DeliveryRow = column.RowOf<typeof DELIVERY>;

const OF_ENDPOINT = 'where organization = $1 and webhook_id = $2';

export function insertDelivery(
  organization: string,
  webhookId: string,
  deliveryId: string,
  { at, messageId, messageType, status, problem, durationMs }: DeliveryRow,
): Statement {
  return {
    name: 'insert_delivery',
    text: `insert into webhooks.deliveries
        (organization, webhook_id, delivery_id, at, message_id, message_type, status, problem, duration_ms)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    values: [organization, webhookId, deliveryId, at, messageId, messageType, status, problem, durationMs],
  };
}

/** Deletes the endpoint's oldest attempts, beyond the number to keep. */
export function pruneDeliveries(organization: string, webhookId: string, kept = KEPT): Statement {
  return {
    name: 'prune_deliveries',
    text: `delete from webhooks.deliveries ${OF_ENDPOINT} and at < (
        select min(at) from (
          select at from webhooks.deliveries ${OF_ENDPOINT} order by at desc limit $3) kept)`,
    values: [organization, webhookId, kept],
  };
}

export function listDeliveries(organization: string, webhookId: string): Statement<DeliveryRow> {
  return {
    name: 'list_deliveries',
    row: DELIVERY,
    text: `select ${column.selectList(DELIVERY)} from webhooks.deliveries ${OF_ENDPOINT} order by at desc, delivery_id limit ${KEPT}`,
    values: [organization, webhookId],
  };
}

export function deleteDeliveries(organization: string, webhookId: string): Statement {
  return {
    name: 'delete_deliveries',
    text: `delete from webhooks.deliveries ${OF_ENDPOINT}`,
    values: [organization, webhookId],
  };
}

export function eraseDeliveries(organization: string): Statement {
  return { name: 'erase_deliveries', text: 'delete from webhooks.deliveries where organization = $1', values: [organization] };
}

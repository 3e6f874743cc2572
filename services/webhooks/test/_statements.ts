// Sends every SQL statement of the webhooks service, for testing/test/row-level-security.test.ts.

import { PROJECT, WEBHOOK, type SendStatements } from '@crs/testing/tenant-rows';
import * as deliveries from '../src/store/deliveries.ts';
import * as due from '../src/store/due.ts';
import * as endpoints from '../src/store/endpoints.ts';

const NOW = new Date('2300-01-01Z');
const LEASE = PROJECT;
const DELIVERY = { at: NOW, messageId: 'm', messageType: 'ping', status: 204, problem: null, durationMs: 1 };
const moved = (id: string) => [{ organization: id, value: 1_000_000, isNew: true }];

/** Every statement of the service. */
export const statements: SendStatements[] = [
  ({ id }) => [
    endpoints.findEndpoint(id, WEBHOOK),
    endpoints.listEndpoints(id),
    deliveries.listDeliveries(id, WEBHOOK),
    due.listDue(id),
    endpoints.findEarlier(id, NOW),
    endpoints.replaceSecret(id, WEBHOOK, Buffer.from(id), { previousUntil: NOW, now: NOW }),
  ],
  ({ id }) => [
    endpoints.insertEndpoint(id, {
      ...{ webhookId: 'wh_new', slot: 2, url: id, cursor: '', createdAt: NOW, organizationCreatedAt: NOW },
      secretEncrypted: Buffer.from(id),
    }),
    due.insertDue(id, 'wh_new', NOW),
  ],
  async ({ id }, query) => {
    await query(endpoints.putMessage(id, WEBHOOK, '', { messageId: 'm', body: '{}', cursor: 'next' }));
    await query(endpoints.countFailure(id, WEBHOOK, 'm', NOW, null));
    return [endpoints.removeDelivered(id, WEBHOOK, 'm')];
  },
  ({ id }) => [endpoints.setDisabled(id, WEBHOOK, 'operator')],
  ({ id }) => [
    deliveries.insertDelivery(id, WEBHOOK, '99999999-2222-4333-8444-555555555555', DELIVERY),
    deliveries.pruneDeliveries(id, WEBHOOK, 1),
  ],
  ({ id }) => [due.wake('feed_position', moved(id), NOW), due.wake('settings_version', moved(id), NOW)],
  async ({ id }, query) => {
    await query(due.claimDue(NOW, LEASE, { all: 10, slow: 10 }));
    const claim = { organization: id, webhookId: WEBHOOK, wakes: '0', slow: false };
    await query(due.release(claim, LEASE, { now: NOW, next: NOW, isSlow: true }));
    await query(due.claimDue(NOW, LEASE, { all: 10, slow: 10 }));
    return [due.deleteLeased(claim, LEASE)];
  },
  ({ id }) => [due.deleteDue(id, WEBHOOK), deliveries.deleteDeliveries(id, WEBHOOK), endpoints.deleteEndpoint(id, WEBHOOK)],
  ({ id }) => [due.eraseDue(id), deliveries.eraseDeliveries(id), endpoints.eraseEndpoints(id)],
];

import { randomBase62 } from '@crs/kit/api-key';
import { callerScope, type Scope } from '@crs/kit/data/scope';
import { notFound, ServiceError } from '@crs/kit/errors';
import { rpc, type CallContext, type Rpcs } from '@crs/kit/rpc/server';
import type { Delivery, Webhook, WebhooksAdminServiceService } from '@crs/proto/crs/webhooks/v1/admin';
import type { Context } from '../context.ts';
import { pingMessage } from '../domain/message.ts';
import { createSecret } from '../domain/signature.ts';
import { parseWebhookUrl } from '../domain/webhook-url.ts';
import { suspended } from '../program-tokens.ts';
import { attempt, contextOf } from '../sender/attempt.ts';
import { cursorAtEnd } from '../sender/next-message.ts';
import { insertDelivery, listDeliveries, pruneDeliveries, type DeliveryRow } from '../store/deliveries.ts';
import { deleteDue, insertDue, listDue } from '../store/due.ts';
import {
  findEarlier,
  findEndpoint,
  insertEndpoint,
  listEndpoints,
  replaceSecret,
  setDisabled,
  type ShownEndpoint,
} from '../store/endpoints.ts';
import { deleteWhole } from '../store/erase.ts';

const MAX_ENDPOINTS = 20;
/** How long the previous secret signs, too. */
const OVERLAP_MS = 86_400_000;

const WRITERS = ['admin', 'manager'] as const;
const READERS = ['admin', 'manager', 'viewer', 'auditor'] as const;
const access = (action: string, roles: typeof WRITERS | typeof READERS) =>
  ({ operator: { action, roles, token: 'one', bound: true } }) as const;

/** For operators: an organization's endpoints. */
export function webhooks(context: Context): Rpcs<WebhooksAdminServiceService> {
  const { db, auth, encrypter, tokens, now } = context;
  const audit = (call: CallContext<'operator'>, action: string, target: string) =>
    auth.recordAudit({ action, target, address: call.address, counted: false }, call);
  /** Opens an organization to an operator, without the endpoints that an earlier organization of the same id left behind. */
  const open = async (call: CallContext<'operator'>) => {
    const scope = callerScope(call);
    const { organization } = scope;
    const current = await tokens.organization(organization);
    const earlier = await db.read(scope, findEarlier(organization, current.createdAt));
    for (const { webhookId } of earlier) await db.transact(scope, (query) => deleteWhole(query, organization, webhookId));
    return { scope, organization, current };
  };
  const find = async (scope: Scope, webhookId: string) => {
    const [endpoint] = await db.read(scope, findEndpoint(scope.organization, webhookId));
    return requireFound(endpoint);
  };
  return {
    createWebhook: rpc(access('webhook.create', WRITERS), async ({ url: text }, call) => {
      const url = parseWebhookUrl(text, context.receivers);
      const { scope, organization, current } = await open(call);
      if (!current.call) throw suspended();
      const cursor = await cursorAtEnd(context, current.call);
      const webhookId = `wh_${randomBase62(16)}`;
      const secret = createSecret();
      await audit(call, 'webhook.create', `${webhookId} ${new URL(url).host}`);
      const inserted = await db.transact(scope, async (query) => {
        const used = (await query(listEndpoints(organization))).map(({ slot }) => slot);
        const slot = Array.from({ length: MAX_ENDPOINTS }, (_, index) => index + 1).find((each) => !used.includes(each));
        if (slot === undefined) throw tooMany();
        const secretEncrypted = encrypter.encrypt(Buffer.from(secret), contextOf(organization, webhookId));
        const endpoint = { webhookId, slot, organizationCreatedAt: current.createdAt, url, secretEncrypted, cursor };
        const [row] = await query(insertEndpoint(organization, { ...endpoint, createdAt: now() }));
        if (!row) throw new ServiceError('aborted', 'Another endpoint was created at the same time. Try again.');
        await query(insertDue(organization, webhookId, now()));
        return row;
      });
      return { webhook: toWebhook(inserted), secret };
    }),

    listWebhooks: rpc(access('webhook.list', READERS), async (_request, call) => {
      const { scope, organization } = await open(call);
      await audit(call, 'webhook.list', '');
      const [endpoints, due] = await Promise.all([
        db.read(scope, listEndpoints(organization)),
        db.read(scope, listDue(organization)),
      ]);
      const dueAt = new Map(due.map(({ webhookId, dueAt: at }) => [webhookId, at]));
      return { webhooks: endpoints.map((each) => toWebhook(each, dueAt.get(each.webhookId))) };
    }),

    testWebhook: rpc(access('webhook.test', WRITERS), async ({ webhookId }, call) => {
      const { scope, organization, current } = await open(call);
      const endpoint = await find(scope, webhookId);
      if (!current.call) throw suspended();
      await audit(call, 'webhook.test', webhookId);
      const message = { messageId: `msg_${randomBase62(20)}`, messageType: 'ping', body: pingMessage(now()).body };
      const sent = await attempt(context, organization, endpoint, message);
      await db.transact(scope, async (query) => {
        await query(insertDelivery(organization, webhookId, sent.deliveryId, sent));
        await query(pruneDeliveries(organization, webhookId));
      });
      return { delivery: toDelivery(sent) };
    }),

    rotateWebhook: rpc(access('webhook.rotate', WRITERS), async ({ webhookId }, call) => {
      const { scope, organization } = await open(call);
      const { previousUntil: last } = await find(scope, webhookId);
      if (last && last > now()) throw alreadyRotated(last);
      await audit(call, 'webhook.rotate', webhookId);
      const secret = createSecret();
      const encrypted = encrypter.encrypt(Buffer.from(secret), contextOf(organization, webhookId));
      const previousUntil = new Date(now().getTime() + OVERLAP_MS);
      const [rotated] = await db.run(scope, replaceSecret(organization, webhookId, encrypted, { previousUntil, now: now() }));
      if (!rotated) throw alreadyRotated(previousUntil);
      return { webhook: toWebhook(rotated), secret, previousUntil };
    }),

    setWebhookEnabled: rpc(access('webhook.enable', WRITERS), async ({ webhookId, enabled }, call) => {
      const { scope, organization } = await open(call);
      const { disabledBy } = await find(scope, webhookId);
      await audit(call, enabled ? 'webhook.enable' : 'webhook.disable', webhookId);
      const changed = await db.transact(scope, async (query) => {
        const [row] = await query(setDisabled(organization, webhookId, enabled ? null : (disabledBy ?? 'operator')));
        await query(enabled ? insertDue(organization, webhookId, now()) : deleteDue(organization, webhookId));
        return requireFound(row);
      });
      return { webhook: toWebhook(changed) };
    }),

    deleteWebhook: rpc(access('webhook.delete', WRITERS), async ({ webhookId }, call) => {
      const { scope, organization } = await open(call);
      await find(scope, webhookId);
      await audit(call, 'webhook.delete', webhookId);
      await db.transact(scope, (query) => deleteWhole(query, organization, webhookId));
      return {};
    }),

    listDeliveries: rpc(access('webhook.deliveries', READERS), async ({ webhookId }, call) => {
      const { scope } = await open(call);
      await find(scope, webhookId);
      await audit(call, 'webhook.deliveries', webhookId);
      return { deliveries: (await db.read(scope, listDeliveries(scope.organization, webhookId))).map(toDelivery) };
    }),
  };
}

function requireFound<T>(endpoint: T | undefined): T {
  if (!endpoint) throw notFound('There is no webhook with this id in this organization. "webhook list" shows those that exist.');
  return endpoint;
}

/** Another rotation would end the secret that receivers may still use. */
function alreadyRotated(until: Date): ServiceError {
  return new ServiceError(
    'failed_precondition',
    `The secret was rotated already, and the one before signs until ${until.toISOString()}. Rotate it after that, or create another webhook and delete this one.`,
  );
}

function tooMany(): ServiceError {
  return new ServiceError(
    'failed_precondition',
    `The organization has ${MAX_ENDPOINTS} webhooks, the most it may have. Delete one first.`,
  );
}

function toWebhook({ webhookId, url, disabledBy, createdAt, failingSince }: ShownEndpoint, nextAttemptAt?: Date): Webhook {
  return {
    webhookId,
    url,
    state: disabledBy === null ? 'enabled' : 'disabled',
    disabledBy: disabledBy ?? undefined,
    createdAt,
    failingSince: failingSince ?? undefined,
    nextAttemptAt,
  };
}

function toDelivery({ messageId, messageType, at, status, problem, durationMs }: DeliveryRow): Delivery {
  return { messageId, type: messageType, at, status: status ?? undefined, problem: problem ?? undefined, durationMs };
}

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { replaceSecret } from '../src/store/endpoints.ts';
import { call, eventually, startWebhookWorld, status, type WebhookWorld } from './_webhooks.ts';

const [ACME, GLOBEX] = ['acme', 'globex'];

let webhooks: WebhookWorld;
beforeAll(async () => {
  webhooks = await startWebhookWorld([ACME, GLOBEX]);
});
afterAll(() => webhooks?.close());

const idsOf = async (organization: string) => {
  const { webhooks: client, operator } = webhooks.world.operator;
  const { webhooks: listed } = await client().listWebhooks({}, await operator(organization));
  return listed.map(({ webhookId }) => webhookId);
};
/** As if its organization was deleted while this service did not run, and then made again. */
const makeStale = (webhookId: string) =>
  webhooks.world.query(
    `update webhooks.endpoints set organization_created_at = now() - interval '1 year' where webhook_id = $1`,
    [webhookId],
  );
const count = async (webhookId: string) => {
  const { rows } = await webhooks.world.query('select count(*)::int as count from webhooks.endpoints where webhook_id = $1', [
    webhookId,
  ]);
  return rows[0].count as number;
};

describe('an organization that is made again under the same id', () => {
  it('inherits no endpoint, and keeps its own', async () => {
    const { world, receiver, create } = webhooks;
    const [stale, own] = [await create(ACME, 'stale'), await create(ACME, 'own')];
    await makeStale(stale.webhookId);
    await world.load([call(ACME, 'later')]);
    await eventually(async () => expect(await count(stale.webhookId)).toBe(0));
    await eventually(() => expect(receiver.changesAt('own')).toHaveLength(1));
    expect(receiver.at('stale')).toEqual([]);
    expect(await idsOf(ACME)).toEqual([own.webhookId]);
  });

  it('is not shown an endpoint of the earlier one, and can not ping it', async () => {
    const { receiver, create, world } = webhooks;
    const { webhookId } = await create(GLOBEX, 'pinged');
    await makeStale(webhookId);
    const { webhooks: client, operator } = world.operator;
    await expect(client().testWebhook({ webhookId }, await operator(GLOBEX))).rejects.toMatchObject({ kind: 'not_found' });
    expect([await idsOf(GLOBEX), receiver.at('pinged')]).toEqual([[], []]);
  });
});

it('a suspended organization gets nothing, not even a repeat, until it is resumed', async () => {
  const { world, receiver, create, settled, pass } = webhooks;
  const { webhookId } = await create(GLOBEX, 'suspended');
  receiver.respond.set('suspended', status(503));
  await world.load([call(GLOBEX, 'hidden')]);
  await settled(webhookId, 1);
  receiver.respond.delete('suspended');
  const { auth, operator, webhooks: admin } = world.operator;
  await auth.setOrganizationSuspended({ suspended: true }, await operator(GLOBEX));
  pass(10_000);
  const postponed = `select 1 from webhooks.due where webhook_id = $1 and lease is null and due_at > now() + interval '30 seconds'`;
  await eventually(async () => expect((await world.query(postponed, [webhookId])).rows).toHaveLength(1));
  const ping = admin().testWebhook({ webhookId }, await operator(GLOBEX));
  await expect(ping).rejects.toMatchObject({ kind: 'failed_precondition' });
  expect(receiver.at('suspended')).toHaveLength(1);
  await auth.setOrganizationSuspended({ suspended: false }, await operator(GLOBEX));
  pass(60_000);
  await eventually(() => expect(receiver.changesAt('suspended').map(({ call_id: id }) => id)).toEqual(['hidden', 'hidden']));
});

it('an endpoint whose secret can not be decrypted has failed attempts, which say so', async () => {
  const { world, create, settled } = webhooks;
  const { webhookId } = await create(ACME, 'undecryptable');
  await world.query(`update webhooks.endpoints set secret_encrypted = 'x' where webhook_id = $1`, [webhookId]);
  await world.load([call(ACME, 'unsigned')]);
  await settled(webhookId, 1);
  const { webhooks: client, operator } = world.operator;
  const { deliveries } = await client().listDeliveries({ webhookId }, await operator(ACME));
  expect(deliveries).toMatchObject([{ status: undefined, problem: "the endpoint's secret can't be decrypted" }]);
});

it('a secret can not be rotated again while the one before it still signs', async () => {
  const { world, create, pass } = webhooks;
  const { webhookId } = await create(ACME, 'twice');
  const { webhooks: client, operator } = world.operator;
  const rotate = async () => client().rotateWebhook({ webhookId }, await operator(ACME));
  await rotate();
  await expect(rotate()).rejects.toMatchObject({ kind: 'failed_precondition' });
  pass(86_400_000);
  await expect(rotate()).resolves.toMatchObject({ secret: expect.stringMatching(/^whsec_/) });
});

it('of two rotations at the same time, only the first changes the secret', async () => {
  const { world, create } = webhooks;
  const { webhookId } = await create(ACME, 'raced');
  const now = new Date();
  const previousUntil = new Date(now.getTime() + 1_000);
  const { text, values } = replaceSecret(ACME, webhookId, Buffer.from('new'), { previousUntil, now });
  const changed = [await world.query(text, values as unknown[]), await world.query(text, values as unknown[])];
  expect(changed.map(({ rows }) => rows.length)).toEqual([1, 0]);
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { call, eventually, startWebhookWorld, status, type Respond, type WebhookWorld } from './_webhooks.ts';

const ACME = 'acme';
const DAY_MS = 86_400_000;

let webhooks: WebhookWorld;
beforeAll(async () => {
  webhooks = await startWebhookWorld([ACME]);
});
afterAll(() => webhooks?.close());

const endpoint = async (webhookId: string) => {
  const { webhooks: client, operator } = webhooks.world.operator;
  const { webhooks: all } = await client().listWebhooks({}, await operator(ACME));
  return all.find((each) => each.webhookId === webhookId)!;
};
const lastAttempt = async (webhookId: string) => {
  const { webhooks: client, operator } = webhooks.world.operator;
  return (await client().listDeliveries({ webhookId }, await operator(ACME))).deliveries[0]!;
};
const disableEntries = async (webhookId: string) =>
  (
    await webhooks.world.query(
      `select actor, target from auth.audit where action = 'webhook.disable' and target like $1 || '%'`,
      [webhookId],
    )
  ).rows;

describe('an endpoint', () => {
  it('that responds 410 is disabled, audited, and continues where it stopped once it is enabled', async () => {
    const { world, receiver, create } = webhooks;
    const { webhookId } = await create(ACME, 'gone');
    receiver.respond.set('gone', status(410));
    await world.load([call(ACME, 'gone-1')]);
    await eventually(async () => expect(await endpoint(webhookId)).toMatchObject({ state: 'disabled', disabledBy: 'gone' }));
    expect(await disableEntries(webhookId)).toEqual([{ actor: 'webhooks', target: `${webhookId} (gone)` }]);
    await world.load([call(ACME, 'gone-2')]);

    receiver.respond.delete('gone');
    const { webhooks: client, operator } = world.operator;
    await client().setWebhookEnabled({ webhookId, enabled: true }, await operator(ACME));
    await eventually(() =>
      expect(receiver.changesAt('gone').map(({ call_id: id }) => id)).toEqual(['gone-1', 'gone-1', 'gone-2']),
    );
    expect(await endpoint(webhookId)).toMatchObject({ state: 'enabled', disabledBy: undefined, failingSince: undefined });
  });

  it('that fails for 5 days is disabled, and not before', async () => {
    const { world, receiver, create, pass, settled } = webhooks;
    const { webhookId } = await create(ACME, 'failing');
    receiver.respond.set('failing', status(500));
    await world.load([call(ACME, 'failing-1')]);
    await settled(webhookId, 1);
    pass(4.9 * DAY_MS);
    await settled(webhookId, 2);
    expect(await endpoint(webhookId)).toMatchObject({ state: 'enabled', failingSince: expect.any(Date) });
    pass(0.2 * DAY_MS);
    await settled(webhookId, 3);
    expect(await endpoint(webhookId)).toMatchObject({ state: 'disabled', disabledBy: 'failing', nextAttemptAt: undefined });
    expect(await disableEntries(webhookId)).toEqual([{ actor: 'webhooks', target: `${webhookId} (failing)` }]);
  });

  it('whose receiver was down for almost 5 days hears of every change since, in order', async () => {
    const { world, receiver, create, pass, settled } = webhooks;
    const { webhookId } = await create(ACME, 'outage');
    receiver.respond.set('outage', status(503));
    const ids = Array.from({ length: 4 }, (_, day) => `outage-${day}`);
    for (const [day, id] of ids.entries()) {
      await world.load([call(ACME, id)]);
      await settled(webhookId, day + 1);
      pass(1.2 * DAY_MS);
      await settled(webhookId, day + 2);
    }
    const refused = receiver.at('outage');
    expect(new Set(refused.map(({ id }) => id)).size).toBe(1);
    receiver.respond.delete('outage');
    pass(3_600_000 * 1.2);
    await eventually(() =>
      expect(
        receiver
          .changesAt('outage')
          .map(({ call_id: id }) => id)
          .slice(refused.length),
      ).toEqual(ids),
    );
    expect(receiver.at('outage')[refused.length]).toMatchObject({ id: refused[0]!.id, body: refused[0]!.body });
    expect(await endpoint(webhookId)).toMatchObject({ state: 'enabled', failingSince: undefined });
  });

  it('that was down for 29 days hears of every change since', async () => {
    const { world, receiver, create, pass } = webhooks;
    const { webhookId } = await create(ACME, 'down');
    const { webhooks: client, operator } = world.operator;
    await client().setWebhookEnabled({ webhookId, enabled: false }, await operator(ACME));
    const ids = Array.from({ length: 120 }, (_, i) => `down-${i}`);
    await world.load(ids.map((id) => call(ACME, id)));
    await world.load([call(ACME, 'down-0', { deleted: true })]);
    pass(29 * DAY_MS);
    await client().setWebhookEnabled({ webhookId, enabled: true }, await operator(ACME));
    const heard = () => receiver.changesAt('down').map(({ call_id: id }) => id);
    await eventually(() => expect(heard()).toHaveLength(ids.length));
    expect(heard().at(-1)).toBe('down-0');
    expect(new Set(heard())).toEqual(new Set(ids));
  });

  it('that is deleted or disabled gets nothing more', async () => {
    const { world, receiver, create } = webhooks;
    const [deleted, disabled] = [await create(ACME, 'deleted'), await create(ACME, 'disabled')];
    await create(ACME, 'witness');
    const { webhooks: client, operator } = world.operator;
    await client().deleteWebhook({ webhookId: deleted.webhookId }, await operator(ACME));
    await client().setWebhookEnabled({ webhookId: disabled.webhookId, enabled: false }, await operator(ACME));
    await world.load([call(ACME, 'for-the-witness')]);
    await eventually(() => expect(receiver.at('witness')).toHaveLength(1));
    expect([receiver.at('deleted'), receiver.at('disabled')]).toEqual([[], []]);
  });
});

describe('a hostile receiver', () => {
  const redirect: Respond = (_request, response) => void response.writeHead(302, { Location: '/ok' }).end();
  const close: Respond = (_request, response) => void response.destroy();
  it.each([
    ['redirects', redirect, { status: 302 }],
    ['fails', status(503), { status: 503 }],
    ['closes the connection', close, { problem: expect.stringContaining('exchange failed') }],
  ])('that %s did not accept the message', async (what, respond, expected) => {
    const { world, receiver, create, settled } = webhooks;
    const path = what.replaceAll(' ', '-');
    const { webhookId } = await create(ACME, path);
    receiver.respond.set(path, respond);
    await world.load([call(ACME, `hostile-${path}`)]);
    await settled(webhookId, 1);
    expect(await lastAttempt(webhookId)).toMatchObject({ type: 'calls.changed', ...expected });
    expect(receiver.at('ok')).toEqual([]);
    receiver.respond.delete(path);
  });

  it('whose body never ends has accepted the message by its status, and the connection is closed', async () => {
    const { world, receiver, create, settled } = webhooks;
    const { webhookId } = await create(ACME, 'endless');
    const closed = Promise.withResolvers<void>();
    receiver.respond.set('endless', (_request, response) => {
      response.writeHead(200);
      const more = setInterval(() => response.write('x'.repeat(65_536)), 1);
      response.once('close', () => (clearInterval(more), closed.resolve()));
    });
    await world.load([call(ACME, 'endless-1')]);
    await settled(webhookId, 1);
    await closed.promise;
    expect(await lastAttempt(webhookId)).toMatchObject({ status: 200 });
  });

  it('that is silent delays no other endpoint', async () => {
    const { world, receiver, create } = webhooks;
    const silent = await create(ACME, 'silent');
    await create(ACME, 'prompt');
    receiver.respond.set('silent', () => {});
    await world.load([call(ACME, 'first')]);
    await eventually(() => expect(receiver.at('silent')).toHaveLength(1));
    await world.load([call(ACME, 'second')]);
    await eventually(() => expect(receiver.changesAt('prompt').map(({ call_id: id }) => id)).toEqual(['first', 'second']), 2_000);
    expect(receiver.at('silent')).toHaveLength(1);
    const { webhooks: client, operator } = world.operator;
    await client().deleteWebhook({ webhookId: silent.webhookId }, await operator(ACME));
  });
});

import { afterAll, beforeAll, expect, it } from 'vitest';
import { call, eventually, startWebhookWorld, type WebhookWorld } from './_webhooks.ts';

const [ACME, GLOBEX] = ['acme', 'globex'];
const ACCESS = { type: 'access.changed', call_id: null, changed_at: expect.any(String) };

let webhooks: WebhookWorld;
beforeAll(async () => {
  webhooks = await startWebhookWorld([ACME, GLOBEX]);
});
afterAll(() => webhooks?.close());

it('a changed setting is told alone, without the calls that follow again, and later changes come after it', async () => {
  const { world, receiver, create } = webhooks;
  await world.load([call(ACME, 'a-1'), call(ACME, 'a-2')]);
  await create(ACME, 'acme');
  await create(GLOBEX, 'globex');
  await world.load([{ type: 'organization', id: ACME, allowed_fields: ['summary'] }]);
  await eventually(() => expect(receiver.changesAt('acme')).toEqual([ACCESS]));
  await world.load([call(ACME, 'a-1', { summary: 'new' })]);
  await eventually(() => expect(receiver.changesAt('acme').map(({ call_id: id }) => id)).toEqual([null, 'a-1']));
  expect(receiver.at('acme')).toHaveLength(2);
  expect(receiver.at('globex')).toEqual([]);
});

it('a cursor that can no longer be used means that all calls must be read again', async () => {
  const { world, receiver, create } = webhooks;
  await create(ACME, 'restored');
  // As after a restore.
  await world.query('update calls.feeds set secret = sha256(secret) where organization = $1', [ACME]);
  await world.load([call(ACME, 'restored-1')]);
  // The sender may look at the endpoint before the call is imported.
  await eventually(() => expect(receiver.changesAt('restored')[0]).toEqual(ACCESS));
  await world.load([call(ACME, 'restored-2')]);
  await eventually(() => expect(receiver.changesAt('restored').at(-1)).toMatchObject({ call_id: 'restored-2' }));
  expect(receiver.changesAt('restored').filter(({ type }) => type === 'access.changed')).toHaveLength(1);
});

import { afterAll, beforeAll, expect, it } from 'vitest';
import { call, eventually, isSigned, startWebhookWorld, status, type WebhookWorld } from './_webhooks.ts';

const [ACME, GLOBEX] = ['acme', 'globex'];

let webhooks: WebhookWorld;
beforeAll(async () => {
  webhooks = await startWebhookWorld([ACME, GLOBEX]);
});
afterAll(() => webhooks?.close());

it('an endpoint hears of changes and deletions since it was created, in order, and only of its own organization', async () => {
  const { world, receiver, create } = webhooks;
  await world.load([call(ACME, 'earlier'), call(GLOBEX, 'earlier')]);
  const { secret } = await create(ACME, 'acme');
  await create(GLOBEX, 'globex');
  await world.load([call(ACME, 'same', { segment: 'a' }), call(GLOBEX, 'same', { segment: 'g' }), call(ACME, 'second')]);
  await eventually(() => expect(receiver.changesAt('acme')).toHaveLength(2));
  await world.load([call(ACME, 'same', { deleted: true }), call(ACME, 'second', { segment: 'b' })]);
  await eventually(() => expect(receiver.changesAt('acme')).toHaveLength(4));
  expect(receiver.changesAt('acme').map(({ type, call_id: id }) => `${type} ${id}`)).toEqual([
    'call.changed same',
    'call.changed second',
    'call.deleted same',
    'call.changed second',
  ]);
  await eventually(() => expect(receiver.changesAt('globex').map(({ call_id: id }) => id)).toEqual(['same']));

  const [first] = receiver.at('acme');
  expect(JSON.parse(first!.body)).toEqual({
    type: 'calls.changed',
    timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
    data: { changes: expect.any(Array), has_more: false },
  });
  expect(first!.headers).toMatchObject({ 'content-type': 'application/json', 'webhook-id': expect.stringMatching(/^msg_/) });
  expect(isSigned(first!, secret)).toBe(true);
  expect(isSigned({ ...first!, body: `${first!.body} ` }, secret)).toBe(false);
});

it('messages have at most 100 changes, and each follows the one before', async () => {
  const { world, receiver, create } = webhooks;
  await create(ACME, 'pages');
  await world.load(Array.from({ length: 250 }, (_, i) => call(ACME, `page-${i}`)));
  await eventually(() => expect(receiver.changesAt('pages')).toHaveLength(250));
  const messages = receiver
    .at('pages')
    .map(({ body }) => (JSON.parse(body) as { data: { changes: object[]; has_more: boolean } }).data);
  expect(messages.map(({ changes, has_more: more }) => [changes.length, more])).toEqual([
    [100, true],
    [100, true],
    [50, false],
  ]);
  expect(new Set(receiver.changesAt('pages').map(({ call_id: id }) => id)).size).toBe(250);
});

it('a message that is not accepted is repeated with the same id and body, before all later changes', async () => {
  const { world, receiver, create, pass, settled } = webhooks;
  const { webhookId } = await create(ACME, 'repeats');
  receiver.respond.set('repeats', status(500));
  await world.load([call(ACME, 'repeat-1')]);
  await settled(webhookId, 1);
  await world.load([call(ACME, 'repeat-2')]);
  pass(7_000);
  await settled(webhookId, 2);
  receiver.respond.delete('repeats');
  pass(13_000);
  await eventually(() => expect(receiver.at('repeats')).toHaveLength(4));
  const [first, second, third, fourth] = receiver.at('repeats');
  expect([second!.id, third!.id, second!.body, third!.body]).toEqual([first!.id, first!.id, first!.body, first!.body]);
  expect(fourth!.id).not.toBe(first!.id);
  expect(receiver.changesAt('repeats').map(({ call_id: id }) => id)).toEqual(['repeat-1', 'repeat-1', 'repeat-1', 'repeat-2']);
});

it('after a rotation, both secrets sign for 24 hours, and then only the new one', async () => {
  const { world, receiver, create, pass } = webhooks;
  const { webhookId, secret } = await create(ACME, 'rotated');
  const { webhooks: client, operator } = world.operator;
  const rotated = await client().rotateWebhook({ webhookId }, await operator(ACME));
  await world.load([call(ACME, 'rotated-1')]);
  await eventually(() => expect(receiver.at('rotated')).toHaveLength(1));
  const [both] = receiver.at('rotated');
  pass(86_400_000);
  await world.load([call(ACME, 'rotated-2')]);
  await eventually(() => expect(receiver.at('rotated')).toHaveLength(2));
  const [, after] = receiver.at('rotated');
  for (const each of [secret, rotated.secret]) expect(isSigned(both!, each)).toBe(true);
  expect([isSigned(after!, secret), isSigned(after!, rotated.secret)]).toEqual([false, true]);
});

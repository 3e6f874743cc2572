import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCrs } from '@crs/testing/run-crs';
import { call, eventually, startWebhookWorld, status, type WebhookWorld } from './_webhooks.ts';

const [ACME, GLOBEX] = ['acme', 'globex'];

let webhooks: WebhookWorld;
beforeAll(async () => {
  webhooks = await startWebhookWorld([ACME, GLOBEX]);
});
afterAll(() => webhooks?.close());

async function crs(...args: string[]) {
  const { stdout, stderr, status: exit } = await runCrs(webhooks.world, ['webhook', ...args, '--json']);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- results have any shape
  return { exit, ...(JSON.parse(stdout || stderr) as Record<string, never>) } as Record<string, unknown> & { exit: number };
}
const create = async (path: string) =>
  (await crs('create', '--org', ACME, '--url', webhooks.receiver.urlOf(path))) as unknown as {
    webhook_id: string;
    secret: string;
  };
const messageOf = ({ error }: Record<string, unknown>) => (error as { message: string }).message;

it('an endpoint is created with a secret that no later command shows', async () => {
  const created = await create('created');
  expect(created).toMatchObject({
    exit: 0,
    webhook_id: expect.stringMatching(/^wh_[0-9A-Za-z]{16}$/),
    secret: expect.stringMatching(/^whsec_[0-9A-Za-z+/]{43}=$/),
    state: 'enabled',
  });
  const listed = await crs('list', '--org', ACME);
  expect(JSON.stringify(listed)).not.toContain(created.secret);
  expect(listed['data']).toContainEqual(
    expect.objectContaining({ webhook_id: created.webhook_id, url: webhooks.receiver.urlOf('created') }),
  );
  const { rows } = await webhooks.world.query('select secret_encrypted from webhooks.endpoints where webhook_id = $1', [
    created.webhook_id,
  ]);
  expect(rows[0].secret_encrypted.toString('latin1')).not.toContain(created.secret.slice('whsec_'.length));
  expect(webhooks.world.log.join('')).not.toContain(created.secret);
});

it('test sends a ping, and exits with 1 unless it is accepted', async () => {
  const { webhook_id: id } = await create('pinged');
  expect(await crs('test', id, '--org', ACME)).toMatchObject({ exit: 0, type: 'ping', status: 204, problem: null });
  const [ping] = webhooks.receiver.at('pinged');
  expect(JSON.parse(ping!.body)).toEqual({ type: 'ping', timestamp: expect.any(String), data: {} });
  webhooks.receiver.respond.set('pinged', status(500));
  expect(await crs('test', id, '--org', ACME)).toMatchObject({ exit: 1, status: 500 });
  expect(await crs('deliveries', id, '--org', ACME)).toMatchObject({ data: [{ status: 500 }, { status: 204 }] });
});

it('disable and enable change the state, rotate the secret, and delete removes the endpoint', async () => {
  const { webhook_id: id, secret } = await create('changed');
  expect(await crs('disable', id, '--org', ACME)).toMatchObject({ state: 'disabled', disabled_by: 'operator' });
  expect(await crs('enable', id, '--org', ACME)).toMatchObject({ state: 'enabled', disabled_by: null });
  const rotated = await crs('rotate', id, '--org', ACME);
  expect(rotated).toMatchObject({ webhook_id: id, secret: expect.stringMatching(/^whsec_/), previous_until: expect.any(String) });
  expect(rotated['secret']).not.toBe(secret);
  expect(await crs('delete', id, '--org', ACME, '--yes')).toMatchObject({ exit: 0, webhook_id: id });
  for (const command of ['test', 'rotate', 'enable', 'disable', 'deliveries', 'delete']) {
    const args = command === 'delete' ? ['--yes'] : [];
    expect(await crs(command, id, '--org', ACME, ...args), command).toMatchObject({ exit: 1, error: { code: 'not_found' } });
  }
  const { rows } = await webhooks.world.query('select action from auth.audit where target like $1 order by audit_id', [`${id}%`]);
  expect(rows.map(({ action }) => action)).toEqual(
    ['create', 'disable', 'enable', 'rotate', 'delete'].map((each) => `webhook.${each}`),
  );
});

it('another organization can neither see an endpoint nor change it', async () => {
  const { webhook_id: id } = await create('foreign');
  expect((await crs('list', '--org', GLOBEX))['data']).toEqual([]);
  for (const command of ['test', 'rotate', 'enable', 'disable', 'deliveries', 'delete']) {
    const args = command === 'delete' ? ['--yes'] : [];
    expect(await crs(command, id, '--org', GLOBEX, ...args), command).toMatchObject({ exit: 1, error: { code: 'not_found' } });
  }
  expect((await crs('list', '--org', ACME))['data']).toContainEqual(
    expect.objectContaining({ webhook_id: id, state: 'enabled' }),
  );
});

describe('a URL', () => {
  it.each([
    ['http://hooks.example/', 'not https'],
    ['https://hooks.example:8443/', 'port 8443'],
    ['https://10.0.0.1/', 'not a public address'],
    ['https://127.0.0.1/', 'not a public address'],
    ['https://[::1]/', 'not a public address'],
    ['https://169.254.169.254/latest', 'not a public address'],
    ['https://0x7f.1/', 'not a public address'],
    ['https://user:pass@hooks.example/', 'credentials'],
    ['https://hooks.example/#a', 'fragment'],
    ['http://127.0.0.1:1/', 'not'],
    ['hooks.example', 'not a URL'],
    [`https://hooks.example/${'x'.repeat(2_000)}`, '2000 characters'],
  ])('is refused: %s', async (url, reason) => {
    const refused = await crs('create', '--org', ACME, '--url', url);
    expect(refused).toMatchObject({ exit: 1, error: { code: 'invalid_argument' } });
    expect(messageOf(refused)).toContain(reason);
  });

  it('whose name resolves to an internal address is accepted, but gets nothing', async () => {
    const { webhook_id: id } = (await crs('create', '--org', ACME, '--url', 'https://localhost/')) as unknown as {
      webhook_id: string;
    };
    expect(await crs('test', id, '--org', ACME)).toMatchObject({
      exit: 1,
      status: null,
      problem: 'localhost has no public address',
    });
    await crs('delete', id, '--org', ACME, '--yes');
  });
});

it('an organization has at most 20 endpoints, however many requests come at once', async () => {
  const { operator } = webhooks.world;
  const MANY = 'many';
  await webhooks.world.load([{ type: 'organization', id: MANY, name: MANY }]);
  const token = await operator.operator(MANY);
  const attempts = Array.from({ length: 25 }, (_, i) =>
    operator.webhooks().createWebhook({ url: webhooks.receiver.urlOf(`many-${i}`) }, token),
  );
  const done = await Promise.allSettled(attempts);
  const codes = done.flatMap((each) => (each.status === 'rejected' ? (each.reason as { kind: string }).kind : []));
  expect(codes.filter((kind) => !['aborted', 'failed_precondition'].includes(kind))).toEqual([]);
  let failure: string | undefined;
  while (failure !== 'failed_precondition') {
    const more = operator.webhooks().createWebhook({ url: webhooks.receiver.urlOf('more') }, token);
    failure = await more.then(
      () => undefined,
      ({ kind }: { kind: string }) => kind,
    );
  }
  expect((await operator.webhooks().listWebhooks({}, token)).webhooks).toHaveLength(20);
});

it('deleting the organization deletes its endpoints alone', async () => {
  const [GONE, STAYS] = ['gone', 'stays'];
  const { world, receiver } = webhooks;
  await world.load([GONE, STAYS].map((id) => ({ type: 'organization', id, name: id })));
  for (const organization of [GONE, STAYS]) await webhooks.create(organization, `of-${organization}`);
  await world.load([call(GONE, 'c'), call(STAYS, 'c')]);
  await eventually(() => expect([...receiver.at('of-gone'), ...receiver.at('of-stays')]).toHaveLength(2));
  expect(await runCrs(world, ['org', 'delete', GONE, '--yes'])).toMatchObject({ status: 0 });
  for (const table of ['endpoints', 'deliveries', 'due']) {
    const { rows } = await world.query(`select distinct organization from webhooks.${table} where organization = any($1)`, [
      [GONE, STAYS],
    ]);
    expect(rows, table).toEqual([{ organization: STAYS }]);
  }
  const { rows } = await world.query('select organization from calls.feed_heads where organization = $1', [GONE]);
  expect(rows).toEqual([]);
});

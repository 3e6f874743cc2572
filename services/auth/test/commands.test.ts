import { beforeAll, expect, it } from 'vitest';
import { runCrs } from '@crs/testing/run-crs';
import { tenant } from '@crs/testing/world';
import { ANN, failureOf, organization, sharedAuthWorld, user, type SharedAuthWorld } from './_fixtures.ts';

const [ACME, GLOBEX, NOWHERE] = [tenant('acme'), tenant('globex'), tenant('nowhere')];
const [FIRST_DOMAIN, SECOND_DOMAIN] = [`${ACME}.example`, `b.${ACME}.example`];

let world: SharedAuthWorld;
beforeAll(async () => {
  world = await sharedAuthWorld([ACME, GLOBEX].flatMap((id) => [organization(id), user(id, ANN)]));
});

const crs = (args: string[], input?: string, environment?: object) => runCrs(world, args, input, environment);

const SET = [
  '--oidc-issuer',
  'https://idp.example',
  '--oidc-client-id',
  'crs',
  '--oidc-domains',
  `${FIRST_DOMAIN},${SECOND_DOMAIN}`,
];
const SHOWN = {
  issuer: 'https://idp.example',
  client_id: 'crs',
  has_client_secret: true,
  domains: [FIRST_DOMAIN, SECOND_DOMAIN],
  email_proof: 'claim',
};

it('an operator sets a provider, sees it without its secret, and removes it', async () => {
  const set = await crs(['org', 'update', ACME, ...SET, '--oidc-client-secret-stdin', '--json'], 'hush-hush\n');
  expect(set).toMatchObject({ status: 0, stderr: '' });
  expect(JSON.parse(set.stdout).oidc_provider).toEqual(SHOWN);

  const changed = await crs(['org', 'update', ACME, '--oidc-domains', FIRST_DOMAIN]);
  const lines = changed.stdout.split('\n').map((line) => line.replaceAll(/ {2,}/g, ': '));
  expect(lines).toEqual(
    expect.arrayContaining([
      'oidc provider issuer: https://idp.example',
      'oidc provider client id: crs',
      'oidc provider has client secret: yes',
      `oidc provider domains: ${FIRST_DOMAIN}`,
      `oidc redirect uri: http://tools.example/sign-in/callback/${ACME}`,
    ]),
  );
  const list = await crs(['org', 'list']);
  expect(list.stdout).toContain('https://idp.example');
  expect(set.stdout + changed.stdout + list.stdout).not.toContain('hush-hush');

  const other = await crs(['org', 'update', ACME, '--oidc-issuer', 'https://other.example']);
  expect(other).toMatchObject({ status: 1, stdout: '', stderr: 'error: oidc_client_id: is required with another issuer\n' });

  const none = await crs(['org', 'update', ACME, '--oidc-issuer', 'none', '--json']);
  expect(JSON.parse(none.stdout).oidc_provider).toBeNull();
  expect((await crs(['org', 'list'])).stdout).toContain('passwords');
});

it('an operator sets a generated or a given password for a user, and the output warns if sign-in does not use it', async () => {
  const set = (...more: string[]) => ['user', 'set-password', '--org', ACME, '--user', ANN, ...more];
  const generated = await crs(set('--json'));
  expect(generated).toMatchObject({ status: 0, stderr: '' });
  const { password } = JSON.parse(generated.stdout);
  expect(JSON.parse(generated.stdout)).toMatchObject({ email: ANN, has_password: true, ended_connections: 0, oidc_issuer: null });
  expect(password).toMatch(/^[0-9A-Za-z]{20}$/);

  const given = await crs(set('--password-stdin', '--end-connections', '--json'), 'plum tart on a late tram\n');
  expect(JSON.parse(given.stdout)).not.toHaveProperty('password');
  const easy = await crs(set('--password-stdin'), 'password12345\n');
  expect(easy).toMatchObject({ status: 1, stdout: '', stderr: expect.stringContaining('password: is too easy to guess') });

  await crs(['org', 'update', ACME, ...SET]);
  const unused = await crs(set());
  expect(unused.stdout).toContain('This is the only time that the password is shown');
  expect(unused.stdout).toContain(`The password isn't used: users of ${ACME} sign in through https://idp.example.`);
  await crs(['org', 'update', ACME, '--oidc-issuer', 'none']);
});

it('an operator ends the sessions of a user', async () => {
  const { accessToken } = await world.operator.auth.createToken(
    { email: ANN, scopes: [], expiresInSeconds: 0 },
    await world.operate(ACME),
  );
  const ended = await crs(['user', 'end-sessions', '--org', ACME, '--user', ANN, '--json']);
  expect(JSON.parse(ended.stdout)).toMatchObject({ email: ANN, disabled: false, ended_connections: 1 });
  expect((await failureOf(world.auth.authenticateToken({ accessToken, audiences: ['calls'] })))?.kind).toBe('unauthenticated');
});

it('an operator lists issuers of identity assertions, and empties the list', async () => {
  const issuer = `https://assertions.${ACME}.example`;
  const set = await crs(['org', 'update', ACME, ...SET, '--assertion-issuers', issuer, '--json']);
  expect(JSON.parse(set.stdout)).toMatchObject({ organization_id: ACME, assertion_issuers: [issuer] });
  expect((await crs(['org', 'update', ACME, '--oidc-issuer', 'none'])).stderr).toContain('add --assertion-issuers none');
  const none = await crs(['org', 'update', ACME, '--oidc-issuer', 'none', '--assertion-issuers', 'none', '--json']);
  expect(JSON.parse(none.stdout)).toMatchObject({ oidc_provider: null, assertion_issuers: [] });
});

it('an operator shows one organization, with the same output as in the list', async () => {
  const output = await crs(['org', 'show', ACME, '--json']);
  expect(output).toMatchObject({ status: 0, stderr: '' });
  // A provider needs the redirect URI before it issues a client id, so the URI is shown without a provider, too.
  expect(JSON.parse(output.stdout)).toMatchObject({
    oidc_provider: null,
    oidc_redirect_uri: `http://tools.example/sign-in/callback/${ACME}`,
  });
  const { data } = JSON.parse((await crs(['org', 'list', '--json'])).stdout);
  expect(JSON.parse(output.stdout)).toEqual(data.find((each: { organization_id: string }) => each.organization_id === ACME));
  expect(await crs(['org', 'show', NOWHERE])).toMatchObject({ status: 1, stdout: '' });
});

it('an operator lists more projects than one page holds', async () => {
  const many = tenant('many');
  const ids = Array.from({ length: 1_002 }, (_, i) => `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`);
  await world.load([
    organization(many),
    ...ids.map((id) => ({
      type: 'project',
      organization: many,
      id,
      name: 'P',
      is_archived: true,
      created_at: '2026-01-01T00:00:00Z',
    })),
  ]);
  const listed = await crs(['project', 'list', '--org', many, '--json']);
  const { data } = JSON.parse(listed.stdout);
  expect(data.map((each: { project_id: string }) => each.project_id)).toEqual(ids.toReversed());
  expect(data[0]).toEqual({
    project_id: ids.at(-1),
    name: 'P',
    status: null,
    is_archived: true,
    billing_office_name: null,
    created_at: '2026-01-01T00:00:00.000Z',
  });
  expect((await crs(['project', 'list', '--org', ACME])).stdout).toBe('None.\n');
});

it('an operator deletes a user without a terminal, and calls of the user stay', async () => {
  const call = { type: 'call', id: 'call_of_ann', conducted_by: ANN, notes: [{ email: ANN, text: 'mine' }] };
  await world.load([ACME, GLOBEX].map((id) => ({ ...call, organization: id })));
  const deleted = await crs(['user', 'delete', '--org', ACME, '--user', ANN, '--json']);
  expect(deleted).toEqual({ status: 0, stdout: `${JSON.stringify({ email: ANN, deleted: true })}\n`, stderr: '' });
  const left = (id: string) =>
    world.rows(
      `select conducted_by is not null as conducted, (select count(*)::int from calls.notes n where n.organization = $1) as notes
        from calls.calls where organization = $1 and call_id = 'call_of_ann'`,
      [id],
    );
  expect(await left(ACME)).toEqual([{ conducted: false, notes: 0 }]);
  expect(await left(GLOBEX)).toEqual([{ conducted: true, notes: 1 }]);
  const again = await crs(['user', 'delete', '--org', ACME, '--user', ANN, '--yes']);
  expect(again).toMatchObject({ status: 1, stderr: expect.stringContaining(`Nobody in ${ACME} has this e-mail.`) });
});

it('an export prints records that an import accepts, and no secret', async () => {
  const id = tenant('abroad');
  await world.load([organization(id), user(id, ANN, { password: 'plum tart on a late tram' })]);
  const exported = await crs(['export', '--org', id]);
  expect(exported).toMatchObject({ status: 0, stderr: '' });
  const lines = exported.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines.map(({ type }) => type)).toEqual(['organization', 'user']);
  expect(lines[1]).toEqual({ type: 'user', organization: id, email: ANN, name: expect.any(String) });
  expect(await crs(['import', '-', '--json'], exported.stdout)).toMatchObject({
    stdout: `${JSON.stringify({ lines: 2, accepted: 0, unchanged: 2, refused: 0, errors: [] })}\n`,
  });
  const actions = await world.rows(
    `select action from auth.audit where organization = $1 and action like '%.export' order by 1`,
    [id],
  );
  expect(actions.map(({ action }) => action)).toEqual([
    'auth.export',
    'auth.export',
    'calls.export',
    'entities.export',
    'projects.export',
    'projects.export',
  ]);
  expect(await crs(['export', '--org', NOWHERE])).toMatchObject({ status: 1, stdout: '' });
});

it('neither --json nor an export prints control characters of imported text, and an import reads them back', async () => {
  const name = 'A\u009b31m\u202eevil\u2066\u200fB';
  const [hostile, other] = [tenant('hostile'), tenant('other')];
  const of = (id: string) => [organization(id, { name }), user(id, ANN, { name })];
  await world.load([...of(hostile), ...of(other)]);
  const exported = await crs(['export', '--org', hostile]);
  const listed = await crs(['user', 'list', '--org', hostile, '--json']);
  for (const { stdout, stderr, status } of [exported, listed]) {
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toContain(String.raw`A\u009b31m\u202eevil\u2066\u200fB`);
    expect(stdout).not.toMatch(/[\u0080-\u009f\p{Bidi_Control}]/u);
  }
  expect(JSON.parse(listed.stdout).data[0].name).toBe(name);
  // The other organization has the same content, so its import changes nothing.
  const lines = exported.stdout.replaceAll(hostile, other);
  expect(JSON.parse((await crs(['import', '-', '--json'], lines)).stdout)).toMatchObject({ accepted: 0, unchanged: 2 });
});

it('the status command reports whether the services, PostgreSQL and Redis are up', async () => {
  const { stdout, status } = await crs(['status', '--json'], '', {
    CRS_RATE_LIMIT_HEALTH_ADDRESS: world.stack.addresses.rateLimit,
  });
  expect(status).toBe(0);
  const { ok, data } = JSON.parse(stdout);
  expect(ok).toBe(true);
  const states = data.map(({ service, up }: { service: string; up: boolean | null }) => [service, up]);
  expect(Object.fromEntries(states)).toEqual({
    auth: true,
    projects: true,
    calls: true,
    entities: true,
    'api-gateway': null,
    'tool-gateway': null,
    'rate-limit': true,
    webhooks: true,
    postgresql: true,
    redis: null,
  });
});

import { createApiKey } from '@crs/kit/api-key';
import { createToken } from '@crs/testing/credentials';
import { runCrs } from '@crs/testing/run-crs';
import { openDirectory } from '@crs/testing/scim';
import { tenant } from '@crs/testing/world';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ANN, failureOf, organization, sharedAuthWorld, user, type SharedAuthWorld } from './_fixtures.ts';
import { quickHash } from './_quick-hash.ts';
import { sharedManaged } from './_managed.ts';
import { authorizePath, Browser, connectAssistant, pkce, refresh, signIn } from './_sign-in.ts';

const PASSWORD = 'correct horse battery';

let world: SharedAuthWorld;
/** Two organizations with a user of the same e-mail. Only the first is suspended. */
let acme: string;
let globex: string;
beforeAll(async () => {
  world = await sharedAuthWorld([]);
});
beforeEach(async () => {
  [acme, globex] = [tenant('acme'), tenant('globex')];
  await world.rows('delete from auth.throttles');
  await world.load([acme, globex].flatMap((id) => [organization(id), user(id, ANN)]));
  for (const id of [acme, globex])
    await world.rows('update auth.users set password_hash = $2 where organization = $1', [id, quickHash(PASSWORD)]);
});

const crs = async (...args: string[]) => {
  const { status, stdout, stderr } = await runCrs(world, [...args, '--json']);
  return { status, stderr, ...(stdout !== '' && { value: JSON.parse(stdout) as Record<string, unknown> }) };
};
const suspend = async () => expect(await crs('org', 'suspend', acme)).toMatchObject({ status: 0 });
const resume = async () => expect(await crs('org', 'resume', acme)).toMatchObject({ status: 0 });
const person = (id: string) => ({ organization: id, email: ANN, password: PASSWORD });
const isGood = async (work: Promise<unknown>) => (await failureOf(work)) === undefined;
const audiences = ['calls'];

/** Every way into an organization, with the credentials of before. */
async function gainAccess(id: string) {
  const browser = new Browser(world.stack.addresses.authHttp);
  const { clientId, tokens } = await connectAssistant(browser, person(id));
  const directory = await openDirectory(world.operator, world.stack.addresses.tools, id);
  const [apiKey, accessToken] = [await world.createKey(id), await createToken(world.operator, id, ANN)];
  return async () => {
    const fresh = new Browser(world.stack.addresses.authHttp);
    const start = await fresh.open(authorizePath(clientId, pkce().challenge));
    return {
      key: await isGood(world.auth.authenticateKey({ apiKey, audiences })),
      token: await isGood(world.auth.authenticateToken({ accessToken, audiences })),
      connection: await isGood(world.auth.authenticateToken({ accessToken: tokens.access_token, audiences })),
      refreshToken: (await refresh(browser, clientId, tokens.refresh_token)).status === 200,
      directory: (await directory('GET', '/Users')).status === 200,
      session: !(await browser.open('/connections')).page.text.includes('name="email"'),
      password: (await signIn(fresh, start.page, person(id))).page.text.includes('value="allow"'),
    };
  };
}
const every = (value: boolean) => ({
  ...{ key: value, token: value, connection: value },
  ...{ refreshToken: value, session: value, password: value, directory: value },
});

describe('suspending an organization', () => {
  it('refuses its keys, tokens, connections, sessions, passwords and directory, and resuming admits them again', async () => {
    const [acmes, globexes] = [await gainAccess(acme), await gainAccess(globex)];
    expect(await acmes()).toEqual(every(true));
    const accepted = () => world.rows(`select 1 from auth.audit where organization = $1 and action = 'sign-in.accept'`, [acme]);
    const before = await accepted();
    await suspend();
    expect(await acmes()).toEqual(every(false));
    // The right password is refused as a wrong one is.
    expect(await accepted()).toEqual(before);
    expect(await globexes()).toEqual(every(true));
    await suspend();
    await resume();
    expect(await acmes()).toEqual(every(true));
  });

  it('is noticed by gateways once their cached answer has expired, and they then answer as to an unknown key', async () => {
    const key = await world.createKey(acme);
    const get = async (credential: string) => {
      const path = '/v1/calls?start_date=2025-01-01T00:00:00Z&end_date=2025-02-01T00:00:00Z';
      const { status, headers, json } = await world.rest(path, { key: credential });
      return { status, challenge: headers.get('www-authenticate'), code: json.error?.code, message: json.error?.message };
    };
    expect((await get(key)).status).toBe(200);
    await suspend();
    await expect.poll(async () => (await get(key)).status).toBe(401);
    expect(await get(key)).toEqual(await get(createApiKey()));
    await resume();
    await expect.poll(async () => (await get(key)).status).toBe(200);
  });

  it('is shown by its commands and in the list, is audited, and is refused for an unknown organization', async () => {
    const shown = async () => (await crs('org', 'show', acme)).value?.['suspended_at'];
    expect(await shown()).toBeNull();
    const { value } = await crs('org', 'suspend', acme);
    expect(value).toMatchObject({ organization_id: acme, suspended_at: expect.stringMatching(/Z$/) });
    // A repeated call keeps the time.
    expect((await crs('org', 'suspend', acme)).value).toEqual(value);
    expect(await shown()).toBe(value?.['suspended_at']);
    const { data } = (await crs('org', 'list')).value as { data: { organization_id: string; suspended_at: string | null }[] };
    expect(
      data.filter(({ organization_id: id }) => [acme, globex].includes(id)).map((each) => each.suspended_at !== null),
    ).toEqual([true, false]);
    expect((await crs('org', 'resume', acme)).value).toMatchObject({ suspended_at: null });
    const entries = await world.rows(
      `select action, target, outcome from auth.audit where organization = $1 and action ~ 'suspend|resume' order by audit_id`,
      [acme],
    );
    const entry = (action: string) => ({ action: `organization.${action}`, target: acme, outcome: 'done' });
    expect(entries).toEqual([entry('suspend'), entry('suspend'), entry('resume')]);
    expect(await crs('org', 'suspend', tenant('nobody'))).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('not_found'),
    });
  });

  it('keeps its records, takes imports of operators, and allows its deletion', async () => {
    await suspend();
    await world.load([user(acme, 'bob@example.com')]);
    expect((await crs('user', 'list', '--org', acme)).value).toMatchObject({
      data: [{ email: ANN }, { email: 'bob@example.com' }],
    });
    expect(await crs('org', 'delete', acme, '--yes')).toMatchObject({ status: 0 });
    expect(await crs('org', 'show', acme)).toMatchObject({ status: 1 });
    expect(await crs('org', 'show', globex)).toMatchObject({ status: 0 });
  });
});

it('while an organization is suspended, its OpenID provider signs nobody in, and its identity assertions are refused', async () => {
  const managed = await sharedManaged();
  await managed.reset();
  const set = async (suspended: boolean) =>
    managed.operator.auth.setOrganizationSuspended({ suspended }, await managed.operate('acme'));
  const statuses = async () => [(await managed.exchange('acme')).status, (await managed.exchange('globex')).status];
  const form = async () => {
    const { clientId } = managed.client;
    const path = authorizePath(clientId, pkce().challenge, { organization: 'acme', login_hint: ANN });
    return (await managed.browser().open(path)).page.text.includes('Continue with');
  };
  expect([await statuses(), await form()]).toEqual([[200, 200], true]);
  await set(true);
  expect([await statuses(), await form()]).toEqual([[400, 200], false]);
  await set(false);
  expect([await statuses(), await form()]).toEqual([[200, 200], true]);
});

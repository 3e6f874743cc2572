import { decodeJwt } from 'jose';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { tenant } from '@crs/testing/world';
import { ANN, failureOf, organization, sharedAuthWorld, user, type SharedAuthWorld } from './_fixtures.ts';
import {
  allow,
  authorizePath,
  Browser,
  CALLBACK,
  connectionsOn,
  disconnect,
  openConnections,
  pkce,
  redeem,
  register,
  type Tokens,
} from './_sign-in.ts';

const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];
const PERSON = { organization: ACME, email: ANN, password: 'correct horse battery' };
const TWIN = { ...PERSON, organization: GLOBEX };
const LOOPBACK = (port: number) => `http://127.0.0.1:${port}/callback`;

let world: SharedAuthWorld;
beforeAll(async () => {
  world = await sharedAuthWorld([ACME, GLOBEX].flatMap((id) => [organization(id), user(id, ANN, { password: PERSON.password })]));
});
beforeEach(() => world.rows('delete from auth.grants where organization in ($1, $2)', [ACME, GLOBEX]));

const browser = () => new Browser(world.stack.addresses.authHttp);
const isGood = async ({ access_token: accessToken }: Tokens) =>
  (await failureOf(world.auth.authenticateToken({ accessToken, audiences: ['calls'] }))) === undefined;

/** Connects a new client. @param uris its redirect URIs, of which the first is used */
async function connect({ name = 'Claude', uris = [CALLBACK], scope = 'calls:read', person = PERSON } = {}): Promise<Tokens> {
  const b = browser();
  const client = await register(b, { client_name: name, redirect_uris: uris });
  return connectAs(client.body.client_id as string, { uri: uris[0]!, scope, person });
}
async function connectAs(clientId: string, { uri = CALLBACK, scope = 'calls:read', person = PERSON } = {}): Promise<Tokens> {
  const b = browser();
  const { verifier, challenge } = pkce();
  const callback = await allow(b, authorizePath(clientId, challenge, { redirect_uri: uri, scope }), person);
  const answer = await redeem(b, clientId, callback.searchParams.get('code')!, verifier, { redirect_uri: uri });
  return answer.body as Tokens;
}
const grantIdOf = ({ access_token: accessToken }: Tokens) => String(decodeJwt(accessToken)['grant_id']);

describe('the page of connections', () => {
  it('has one row for a self-registered client that registers again, with its hosts and last use', async () => {
    const first = await connect();
    const second = await connect({ scope: 'projects:read' });
    const times = `update auth.grants set created_at = '2026-03-01', last_used_at = '2026-03-02' where grant_id = $1`;
    await world.rows(times, [grantIdOf(first)]);
    const page = await openConnections(browser(), PERSON);
    const [row, ...others] = connectionsOn(page);
    expect(others).toEqual([]);
    expect(row!.words).toMatch(
      /^Claude Sends you to claude\.ai \(name not verified\) May read Calls, Projects First connected 1 Mar 2026 Last used 2 Mar 2026 Access ends .* Connections 2 Disconnect/,
    );
    expect(row!.id).toBe(grantIdOf(second));
  });

  it('tells clients apart that have the same name and other redirect hosts', async () => {
    await connect();
    await connect({ uris: [CALLBACK, 'https://evil.example/callback'] });
    await connect({ uris: [LOOPBACK(1111)] });
    // An app may use another port each time.
    await connect({ uris: [LOOPBACK(2222)] });
    await connect({ name: 'Cursor', uris: ['cursor://callback'] });
    const words = connectionsOn(await openConnections(browser(), PERSON)).map((row) => row.words);
    expect(words.map((each) => / Sends you to (.*) \(name/.exec(each)![1])).toEqual([
      'cursor://',
      '127.0.0.1',
      'claude.ai , evil.example',
      'claude.ai',
    ]);
  });

  it('has one row for each pre-registered client, whatever its name', async () => {
    const create = async () => {
      const request = { name: 'Research bot', redirectUris: [CALLBACK], withSecret: false };
      return (await world.operator.auth.createClient(request, await world.operate())).client!.clientId;
    };
    const [one, two] = [await create(), await create()];
    for (const clientId of [one, two, one]) await connectAs(clientId);
    await connect({ name: 'Research bot' });
    const words = connectionsOn(await openConnections(browser(), PERSON)).map((row) => row.words);
    expect(words).toEqual([
      expect.stringMatching(/^Research bot Sends you to claude\.ai/),
      expect.stringMatching(/^Research bot Registered by the operator of this service .* Connections 2/),
      expect.not.stringContaining('Connections'),
    ]);
  });

  it('disconnects all grants of a row by one click, with an audit entry for each, and no others', async () => {
    const claude = [await connect(), await connect()];
    const others = [await connect({ name: 'Cursor' }), await connect({ person: TWIN })];
    const b = browser();
    const page = await openConnections(b, PERSON);
    const row = connectionsOn(page).find(({ words }) => words.startsWith('Claude'))!;
    const after = await disconnect(b, page, row.id);
    expect(after.text).toContain('Claude is disconnected.');
    expect(connectionsOn(after).map(({ words }) => words.split(' ')[0])).toEqual(['Cursor']);
    for (const each of claude) expect(await isGood(each)).toBe(false);
    for (const each of others) expect(await isGood(each)).toBe(true);
    const entries = await world.rows<{ target: string }>(
      `select target from auth.audit where organization = $1 and actor = $2 and action = 'connection.revoke' order by audit_id desc limit 2`,
      [ACME, ANN],
    );
    expect(entries.map(({ target }) => target).sort()).toEqual(claude.map(grantIdOf).sort());
  });

  it('ends nothing of the same person in another organization', async () => {
    const [mine, twins] = [await connect(), await connect({ person: TWIN })];
    const b = browser();
    const page = await openConnections(b, TWIN);
    expect(connectionsOn(page).map(({ id }) => id)).toEqual([grantIdOf(twins)]);
    await disconnect(b, page, grantIdOf(mine));
    expect(await isGood(mine)).toBe(true);
    await disconnect(b, page, grantIdOf(twins));
    expect([await isGood(mine), await isGood(twins)]).toEqual([true, false]);
  });

  it('says that a managed client comes back, and keeps it apart from what the user connected', async () => {
    const [managed, connected] = [await connect(), await connect()];
    // A self-registered client is never managed, so the row gets the id of a metadata document.
    const manage = `update auth.grants set kind = 'managed', client_id = 'https://claude.ai/client.json' where grant_id = $1`;
    await world.rows(manage, [grantIdOf(managed)]);
    const b = browser();
    const page = await openConnections(b, PERSON);
    const [own, row] = connectionsOn(page);
    expect(own!.id).toBe(grantIdOf(connected));
    expect(row!.words).toMatch(/^Claude Managed by your organization\. .* Identified by claude\.ai/);
    const after = await disconnect(b, page, row!.id);
    expect(after.text).toContain('Claude is disconnected. It comes back when your organization’s directory next uses it.');
    expect(await isGood(connected)).toBe(true);
  });
});

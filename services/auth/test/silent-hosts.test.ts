import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CLIENT, startIdentityProvider, type IdentityProvider } from './_identity-provider.ts';
import { ANN, organization, startAuthWorld, user, type AuthWorld } from './_fixtures.ts';
import { authorizePath, Browser, pkce, refresh, register, type Answer } from './_sign-in.ts';

/** The limits of concurrent fetches of metadata documents, in total and per host; and of fetches from providers, in total and per organization. */
const [TOTAL, PER_KEY] = [16, 4];

let world: AuthWorld;
let clientId: string;
let idp: IdentityProvider;
/** Hosts that accept connections and never respond. */
const silent: { server: Server; host: string; connections: number }[] = [];
const sockets = new Set<Socket>();

beforeAll(async () => {
  for (let n = 0; n < TOTAL / PER_KEY + 2; n++) {
    const host = { server: createServer(), host: '', connections: 0 };
    host.server.on('connection', (socket) => {
      host.connections++;
      sockets.add(socket.on('error', () => {}));
    });
    await once(host.server.listen(0, '127.0.0.1'), 'listening');
    host.host = `localhost:${(host.server.address() as AddressInfo).port}`;
    silent.push(host);
  }
  idp = await startIdentityProvider();
  const tenants = ['acme', 'globex', 'good', 'p0', 'p1', 'p2', 'p3'];
  const hosts = [...silent.map(({ host }) => host), idp.host];
  world = await startAuthWorld(
    tenants.flatMap((tenant) => [organization(tenant), user(tenant, ANN, { password: 'correct horse battery' })]),
    { cimdAllowHosts: hosts, oidcAllowHosts: hosts.map((host) => ({ host })) },
  );
  clientId = (await register(browser())).body.client_id;
});
afterAll(async () => {
  await world?.close();
  for (const { server } of silent) server.close();
  await idp?.stop();
});

const browser = () => new Browser(world.stack.addresses.authHttp);
/** Ends all connections to silent hosts, so that nobody waits for their 2 s. */
const hangUp = () => {
  for (const socket of sockets) socket.destroy();
  sockets.clear();
};

/** Begins requests that wait for silent hosts. @returns the responses so far, and `end`, which hangs up and returns all responses */
function stall(count: number, send: (n: number) => Promise<Answer>) {
  const answers: Answer[] = [];
  const all = Promise.all(
    Array.from({ length: count }, async (_, n) => {
      const answer = await send(n);
      answers.push(answer);
      return answer;
    }),
  );
  const end = async () => {
    hangUp();
    return all;
  };
  return { answers, end };
}

const authorizeDocument = (host: string, path: string) =>
  browser().send(authorizePath(`https://${host}/${path}`, pkce().challenge), { headers: { accept: 'text/html' } });
const statusesOf = (answers: Answer[]) => answers.map(({ status }) => status).toSorted((a, b) => a - b);
const times = (count: number, status: number) => Array.from({ length: count }, () => status);

describe('a host of metadata documents that never responds', () => {
  it('gets one fetch at a time, and requests for its other documents are refused at once', async () => {
    const [host] = silent;
    host!.connections = 0;
    const { answers, end } = stall(20, (n) => authorizeDocument(host!.host, String(n)));
    await expect.poll(() => answers.length).toBe(19);
    expect(statusesOf(answers)).toEqual(times(19, 503));
    expect(answers[0]!.headers.get('retry-after')).toBe('2');
    expect(answers[0]!.text).toContain('Try again in a few seconds.');
    expect(host!.connections).toBe(1);
    // The request that waited gets 400: the document can't be fetched.
    expect(statusesOf(await end())).toEqual([400, ...times(19, 503)]);
    expect(host!.connections).toBe(1);
  });

  it('keeps only a few requests for one document waiting', async () => {
    const [host] = silent;
    host!.connections = 0;
    const { answers, end } = stall(20, () => authorizeDocument(host!.host, 'same'));
    await expect.poll(() => answers.length).toBe(20 - PER_KEY);
    expect(host!.connections).toBe(1);
    expect(statusesOf(await end())).toEqual([...times(PER_KEY, 400), ...times(20 - PER_KEY, 503)]);
  });

  it('doesn’t block pages, tokens or registered clients, even together with all other silent hosts', async () => {
    const { answers, end } = stall(8 * silent.length, (n) => authorizeDocument(silent[n % silent.length]!.host, 'same'));
    await expect.poll(() => answers.length).toBe(8 * silent.length - TOTAL);
    expect((await browser().send('/connections')).status).toBe(200);
    expect((await browser().open(authorizePath(clientId, pkce().challenge))).page.status).toBe(200);
    expect((await refresh(browser(), clientId, 'none')).body.error).toBe('invalid_grant');
    const unknown = await refresh(browser(), `https://${silent[0]!.host}/token`, 'none');
    expect([unknown.status, unknown.headers.get('retry-after'), unknown.body.error]).toEqual([
      503,
      '2',
      'temporarily_unavailable',
    ]);
    // All of this was served while the silent hosts used up every fetch.
    expect(answers).toHaveLength(8 * silent.length - TOTAL);
    await end();
  });
});

const provide = async (tenant: string, issuer: string, assertionIssuers?: { issuers: string[] }) => {
  const settings = {
    name: undefined,
    writeSurface: undefined,
    anonymizeInterviewees: undefined,
    allowedFields: undefined,
    rateLimit: undefined,
    toolRateLimit: undefined,
    deleteLimit: undefined,
    assertionIssuers,
    oidcProvider: { domains: [`${tenant}.example`], ...CLIENT, issuer },
  };
  await world.operator.auth.updateOrganization({ settings }, await world.operate(tenant));
};

describe('an organization’s provider that never responds', () => {
  const pageOf = async (tenant: string) => {
    const b = browser();
    const { page } = await b.open(authorizePath(clientId, pkce().challenge, { organization: tenant }));
    return { b, page };
  };

  it('blocks neither another organization with a provider at the same host nor passwords', async () => {
    for (const tenant of ['acme', 'globex']) await provide(tenant, `https://${silent[0]!.host}`);
    await provide('good', idp.issuer);
    silent[0]!.connections = 0;
    const pages = await Promise.all(Array.from({ length: 10 }, () => pageOf('acme')));
    const { answers, end } = stall(10, async (n) => (await pages[n]!.b.submit(pages[n]!.page, {})).page);
    await expect.poll(() => answers.length).toBe(10 - PER_KEY);
    expect(statusesOf(answers)).toEqual(times(10 - PER_KEY, 503));
    expect(answers[0]!.headers.get('retry-after')).toBe('1');
    expect(answers[0]!.text).toContain('try again in a few seconds');
    // Those who wait share one fetch of the metadata.
    expect(silent[0]!.connections).toBe(1);

    const good = await pageOf('good');
    expect((await good.b.submit(good.page, {})).externalUrl?.host).toBe(idp.host);
    const same = await pageOf('globex');
    const sameHost = stall(1, async () => (await same.b.submit(same.page, {})).page);
    expect((await browser().send('/connections')).status).toBe(200);
    expect(answers).toHaveLength(10 - PER_KEY);
    // Its own host is silent, so it fails, but only after the fetch.
    expect((await sameHost.end())[0]!.text).toContain('can’t be reached');
    await end();
  });

  it('leaves fetches for metadata documents available', async () => {
    for (const [n, tenant] of ['p0', 'p1', 'p2', 'p3'].entries()) await provide(tenant, `https://${silent[n]!.host}`);
    const pages = await Promise.all(Array.from({ length: TOTAL }, (_, n) => pageOf(`p${n % 4}`)));
    const { page, b } = await pageOf('good');
    let isOver = false;
    const all = Promise.all(
      pages.map(async (one) => {
        while (!isOver) await one.b.submit(one.page, {});
      }),
    );
    // The sixteen use up all fetches from providers.
    await expect.poll(async () => (await b.submit(page, {})).page.status).toBe(503);
    const document = await browser().send(authorizePath(`https://${idp.host}/none`, pkce().challenge));
    expect(document.status).toBe(400);
    isOver = true;
    hangUp();
    await all;
  });
});

describe('an issuer of identity assertions that never responds', () => {
  it('keeps only a few requests waiting, and does not block the issuer of another organization', async () => {
    const issuers = { p0: `https://${silent[0]!.host}`, good: idp.issuer };
    for (const [tenant, issuer] of Object.entries(issuers)) await provide(tenant, issuer, { issuers: [issuer] });
    const client = { name: 'x', redirectUris: ['https://client.example/'], withSecret: false };
    const created = await world.operator.auth.createClient(client, await world.operate());
    const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
    const send = (iss: string) => {
      const assertion = `${encode({ alg: 'ES256', typ: 'oauth-id-jag+jwt' })}.${encode({ iss })}.AAAA`;
      const grant_type = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
      return browser().send('/token', { form: { grant_type, assertion, client_id: created.client!.clientId } });
    };
    silent[0]!.connections = 0;
    const { answers, end } = stall(10, () => send(issuers.p0));
    await expect.poll(() => answers.length).toBe(10 - PER_KEY);
    expect(statusesOf(answers)).toEqual(times(10 - PER_KEY, 503));
    expect(answers[0]!.headers.get('retry-after')).toBe('2');
    expect(silent[0]!.connections).toBe(1);
    expect((await send(issuers.good)).status).toBe(400);
    expect(answers).toHaveLength(10 - PER_KEY);
    expect(statusesOf(await end())).toEqual([...times(PER_KEY, 400), ...times(10 - PER_KEY, 503)]);
  });
});

import { beforeAll, describe, expect, it } from 'vitest';
import { createApiKey, createScimToken } from '@crs/kit/api-key';
import { RateLimiter } from '@crs/kit/limits/limiter';
import { createLogger } from '@crs/kit/process/log';
import { directoryWith, filtered, newUser, openDirectory, patch, type Directory } from '@crs/testing/scim';
import { tenant } from '@crs/testing/world';
import { organization, sharedAuthWorld, user, type SharedAuthWorld } from './_fixtures.ts';

const TENANTS = [tenant('acme'), tenant('globex')] as const;
const [ACME, GLOBEX] = TENANTS;

let world: SharedAuthWorld;
let acme: Directory;
let tools: string;

beforeAll(async () => {
  world = await sharedAuthWorld(TENANTS.flatMap((id) => [organization(id), user(id, 'ann@x.example')]));
  tools = world.stack.addresses.tools;
  acme = await openDirectory(world.operator, tools, ACME);
});

const createToken = async (tenant: string, label = '') =>
  world.operator.auth.createScimToken({ label }, await world.operate(tenant));
const list = async (tenant: string) => (await world.operator.auth.listScimTokens({}, await world.operate(tenant))).scimTokens;

describe('a SCIM token', () => {
  it('is shown once, stored as a digest, and listed in its organization with its last use', async () => {
    const { scimToken, secret } = await createToken(ACME, 'okta');
    expect(secret).toMatch(/^crd_[0-9A-Za-z]{39}$/);
    expect(scimToken).toMatchObject({ tokenId: expect.stringMatching(/^scim_[0-9A-Za-z]{16}$/), label: 'okta' });
    const rows = await world.rows<{ row: string }>(
      'select t::text || d::text as row from auth.scim_tokens t join auth.scim_token_directory d using (token_id)',
    );
    expect(rows.some(({ row }) => row.includes(secret))).toBe(false);
    expect(await list(ACME)).toContainEqual(scimToken);
    expect((await list(GLOBEX)).map(({ tokenId }) => tokenId)).not.toContain(scimToken!.tokenId);
    await directoryWith(tools, secret)('GET', '/Users');
    const lastUse = async () => (await list(ACME)).find(({ tokenId }) => tokenId === scimToken!.tokenId)!.lastUsedAt;
    await expect.poll(lastUse).toBeInstanceOf(Date);
  });

  it('is refused within a second after it is revoked, for good, and only by its organization', async () => {
    const { scimToken, secret } = await createToken(ACME);
    const directory = directoryWith(tools, secret);
    const { tokenId } = scimToken!;
    const revoke = async (tenant: string) => world.operator.auth.revokeScimToken({ tokenId }, await world.operate(tenant));
    await expect(revoke(GLOBEX)).rejects.toMatchObject({ kind: 'not_found' });
    expect((await directory('GET', '/Users')).status).toBe(200);
    const { scimToken: revoked } = await revoke(ACME);
    expect(revoked!.revokedAt).toBeInstanceOf(Date);
    // Auth checks the token itself, so not even the gateway's cached response helps.
    expect((await directory('POST', '/Users', newUser('late@x.example'))).status).toBe(401);
    expect(await revoke(ACME)).toEqual({ scimToken: revoked });
  });

  it.each([
    ['none', undefined],
    ['an unknown one', createScimToken()],
    ['one with a typo', 'crd_I2EoI3emyw4MTcLcYXjn7yukgaGUJCvdU3HEnza'],
    ['another text', 'x'],
    ['an unknown API key', createApiKey()],
  ])('is required: %s gets the same 401 on every path', async (_, token) => {
    const directory = directoryWith(tools, token);
    for (const path of ['/Users', '/Users/x', '/Schemas', '/Nothing', '/../Users', '']) {
      const { status, headers, body } = await directory('GET', path);
      expect([status, headers['www-authenticate'], body.detail]).toEqual([
        401,
        'Bearer',
        'The SCIM token is missing, unknown or revoked.',
      ]);
    }
  });

  it("can't be used for REST or the tools, and neither can their credentials be used here", async () => {
    const { secret } = await createToken(ACME);
    expect((await world.rest('/v1/calls', { key: secret })).status).toBe(401);
    const key = await world.createKey(ACME);
    expect((await directoryWith(tools, key)('GET', '/Users')).status).toBe(401);
    const request = { email: 'ann@x.example', scopes: [], expiresInSeconds: 0 };
    const { accessToken } = await world.operator.auth.createToken(request, await world.operate(ACME));
    expect((await directoryWith(tools, accessToken)('GET', '/Users')).status).toBe(401);
    const mcp = await fetch(`http://${tools}/mcp`, { method: 'POST', headers: { authorization: `Bearer ${secret}` } });
    expect([401, 403]).toContain(mcp.status);
  });
});

describe('a request', () => {
  it.each([
    ['GET', '/Nothing', undefined, 404],
    ['GET', '/Users/a/b', undefined, 404],
    ['GET', '/users', undefined, 404],
    ['GET', '/Users/%2e%2e', undefined, 404],
    ['PUT', '/Users', newUser('x@x.example'), 405],
    ['OPTIONS', '/Users', undefined, 405],
    ['DELETE', '/Schemas', undefined, 405],
    ['POST', '/Users', '{"userName"', 400],
    ['POST', '/Users', '"x"', 400],
    ['POST', '/Users', '[]', 400],
  ])('%s %s with the body %j gets %s', async (method, path, body, status) => {
    expect((await acme(method, path, body)).status).toBe(status);
  });

  it('may have a body of 1 MiB, however deep', async () => {
    expect((await acme('POST', '/Users', '['.repeat(1024 * 1024))).status).toBe(400);
    expect((await acme('POST', '/Users', ' '.repeat(1024 * 1024 + 1))).status).toBe(413);
  });

  it('must have a JSON body', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded']) {
      expect((await acme('POST', '/Users', 'userName=x', { 'content-type': type })).status).toBe(415);
    }
    const json = await acme('POST', '/Users', newUser('json@x.example'), { 'content-type': 'application/json' });
    expect(json.status).toBe(201);
  });

  it.each([
    ['filter=userName%20co%20%22a%22', 'invalidFilter'],
    ['startIndex=x', 'invalidValue'],
    ['count=1e9', 'invalidValue'],
  ])('for a list is refused with the query %s', async (query, scimType) => {
    expect(await acme('GET', `/Users?${query}`)).toMatchObject({ status: 400, body: { scimType } });
  });

  it.each([
    ['startIndex=0&count=-1', { startIndex: 1, itemsPerPage: 0 }],
    ['startIndex=-5', { startIndex: 1 }],
    ['count=0', { itemsPerPage: 0, Resources: [] }],
    [`filter=${encodeURIComponent('userName eq "a" and userName eq "b"')}`, { totalResults: 0 }],
    [`filter=${encodeURIComponent('externalId eq "\\u0000"')}`, { totalResults: 0 }],
    [`filter=${encodeURIComponent('id eq "x"')}`, { totalResults: 0 }],
  ])('for a list with the query %s is answered', async (query, expected) => {
    expect(await acme('GET', `/Users?${query}`)).toMatchObject({ status: 200, body: expected });
  });

  it('for a list returns at most 200 resources, and their requested attributes', async () => {
    const many = Array.from({ length: 205 }, (_, n) => user(GLOBEX, `many-${n}@x.example`));
    await world.load(many);
    const globex = await openDirectory(world.operator, tools, GLOBEX);
    const { body } = await globex('GET', '/Users?count=1000&attributes=userName,name.givenName');
    expect([body.totalResults, body.itemsPerPage]).toEqual([206, 200]);
    expect(new Set(body.Resources.flatMap((each: object) => Object.keys(each)))).toEqual(
      new Set(['schemas', 'id', 'userName', 'meta']),
    );
  });
});

it('limits requests of an organization to 1,500 a minute, whatever the token, apart from those of others and from REST', async () => {
  const lone = tenant('lone');
  await world.load([organization(lone)]);
  const [one, other] = [await createToken(lone), await createToken(lone)].map(({ secret }) => directoryWith(tools, secret));
  // Charges as many requests at once as are left but for two: as many requests would take too long.
  const limiter = new RateLimiter({
    address: world.stack.addresses.rateLimit,
    log: createLogger('test', { level: 'silent' }),
  });
  const rule = { requests: 1_500, periodSeconds: 60 };
  const charged = await limiter.check({ kind: 'organization', id: `${lone} scim`, rule, hits: 1_498 });
  limiter.close();
  expect(charged).toMatchObject({ allowed: true, remaining: 2 });
  const statuses = [await one!('GET', '/ResourceTypes'), await other!('GET', '/Nothing')].map(({ status }) => status);
  expect(statuses).toEqual([200, 404]);
  const refused = await one!('GET', '/Users');
  expect([refused.status, refused.headers['retry-after']]).toEqual([429, expect.stringMatching(/^[1-9]\d?$/)]);
  expect((await acme('GET', '/ResourceTypes')).status).toBe(200);
  const calls = '/v1/calls?start_date=2025-01-01T00:00:00Z&end_date=2026-01-01T00:00:00Z';
  expect((await world.rest(calls, { key: await world.createKey(lone) })).status).toBe(200);
});

it('changes a resource by concurrent requests one after the other', async () => {
  const { body } = await acme('POST', '/Users', newUser('many@x.example'));
  const groups = await Promise.all(
    Array.from({ length: 8 }, (_, n) => acme('POST', '/Groups', { displayName: `Race ${n % 2}`, members: [] })),
  );
  expect(groups.filter(({ status }) => status === 201)).toHaveLength(2);
  expect(groups.filter(({ status }) => status === 409)).toHaveLength(6);
  const { id } = groups.find(({ status }) => status === 201)!.body;
  const add = patch({ op: 'add', path: 'members', value: [{ value: body.id }] });
  const all = await Promise.all(Array.from({ length: 8 }, () => acme('PATCH', `/Groups/${id}`, add)));
  expect(all.map(({ status }) => status)).toEqual(Array(8).fill(204));
  expect((await acme('GET', `/Groups/${id}`)).body.members).toHaveLength(1);
  expect((await acme('GET', filtered('Users', 'userName eq "many@x.example"'))).body.totalResults).toBe(1);
});

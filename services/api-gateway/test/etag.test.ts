import { beforeAll, describe, expect, it } from 'vitest';
import { DEFAULT_ALLOWED_FIELDS } from '@crs/records/allowed-fields';
import { sharedWorld, tenant, type World } from '@crs/testing/world';
import { sendBytes } from './_answers.ts';

const LIST = '/v1/calls?start_date=2025-01-01T00:00:00Z&end_date=2026-01-01T00:00:00Z';
const PATHS = ['/v1/calls/call_1', LIST];
const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];

let world: World;
let acme: string;
let globex: string;

const call = {
  type: 'call',
  organization: ACME,
  id: 'call_1',
  created_at: '2025-03-01T00:00:00Z',
  summary: 'first',
  segment: 'Customers',
};
const organization = { type: 'organization', id: ACME, name: 'Acme', rate_limit: { requests: 100_000, period_seconds: 60 } };

beforeAll(async () => {
  world = await sharedWorld();
  await world.load([organization, call, { ...organization, id: GLOBEX }, { ...call, organization: GLOBEX, summary: 'other' }]);
  acme = await world.createKey(ACME);
  globex = await world.createKey(GLOBEX);
});

const tagOf = async (path: string, key = acme) => (await world.rest(path, { key })).headers.get('etag')!;
const getIf = (path: string, tag: string, method = 'GET') =>
  world.rest(path, { key: acme, method, headers: { 'if-none-match': tag } });

describe.each(PATHS)('%s', (path) => {
  it('has a strong entity tag, which is the same for the same response', async () => {
    const tag = await tagOf(path);
    expect(tag).toMatch(/^"[\w-]+"$/);
    expect(await tagOf(path)).toBe(tag);
  });

  it.each([
    ['the tag', (tag: string) => tag],
    ['the tag in its weak form', (tag: string) => `W/${tag}`],
    ['a list with the tag', (tag: string) => `"a", W/"b",${tag} , "c"`],
    ['a list with the tag in its weak form', (tag: string) => `"a,b", W/${tag}`],
    ['*', () => '*'],
  ])('returns 304 if If-None-Match is %s', async (_, given) => {
    const tag = await tagOf(path);
    for (const method of ['GET', 'HEAD']) {
      const { status, headers, text } = await getIf(path, given(tag), method);
      expect(status).toBe(304);
      expect(text).toBe('');
      expect(headers.get('etag')).toBe(tag);
      expect(headers.get('content-length')).toBeNull();
      expect(headers.get('content-type')).toBeNull();
    }
  });

  it.each([
    ['another tag', () => '"another"'],
    ['part of the tag', (tag: string) => `${tag.slice(0, -2)}"`],
    ['the tag with a character more', (tag: string) => `"x${tag.slice(1)}`],
    ['the tag without quotes', (tag: string) => tag.slice(1, -1)],
    ['a star in quotes', () => '"*"'],
    ['empty', () => ''],
  ])('returns 200 if If-None-Match is %s', async (_, given) => {
    const { status, json, headers } = await getIf(path, given(await tagOf(path)));
    expect(status).toBe(200);
    expect(json).toBeDefined();
    expect(headers.get('etag')).toBe(await tagOf(path));
  });

  it('returns 304 even with "Cache-Control: no-cache", which fetch adds to conditional requests', async () => {
    const tag = await tagOf(path);
    const answers = await sendBytes(
      world.stack.addresses.api,
      `GET ${path} HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${acme}\r\nIf-None-Match: "a"\r\nIf-None-Match: ${tag}\r\nCache-Control: no-cache\r\nConnection: close\r\n\r\n`,
    );
    expect(answers.map(({ status }) => status)).toEqual([304]);
  });
});

describe('an entity tag', () => {
  it('differs between organizations whose responses differ', async () => {
    expect(await tagOf('/v1/calls/call_1')).not.toBe(await tagOf('/v1/calls/call_1', globex));
  });

  it('is never sent with an error, and If-None-Match never turns an error into 304', async () => {
    for (const path of ['/v1/calls/unknown', '/v1/calls', '/v1/nothing']) {
      const { status, headers } = await getIf(path, '*');
      expect(status).toBeGreaterThanOrEqual(400);
      expect(headers.get('etag')).toBeNull();
    }
    expect((await world.rest('/v1/calls/call_1', { headers: { 'if-none-match': '*' } })).status).toBe(401);
  });

  it('changes only when the response changes', async () => {
    const [detail, list] = [await tagOf('/v1/calls/call_1'), await tagOf(LIST)];
    await world.load([{ ...call, organization: GLOBEX, summary: 'changed' }]);
    expect([await tagOf('/v1/calls/call_1'), await tagOf(LIST)]).toEqual([detail, list]);
    await world.load([{ ...call, summary: 'second' }]);
    expect((await getIf('/v1/calls/call_1', detail)).json.summary).toBe('second');
    expect((await getIf(LIST, list)).status).toBe(200);
  });

  it("follows the organization's allowed fields: it changes with them, and back", async () => {
    // A new key each time, because the gateway caches the settings of a known one.
    const tags = async () => {
      const key = await world.createKey(ACME);
      return [await tagOf('/v1/calls/call_1', key), await tagOf(LIST, key)];
    };
    const showing = async (allowed: readonly string[]) => {
      await world.load([{ ...organization, allowed_fields: allowed }]);
      return tags();
    };
    const before = await tags();
    const less = await showing(['rating']);
    expect(less[0]).not.toBe(before[0]);
    expect(less[1]).not.toBe(before[1]);
    expect(await showing(DEFAULT_ALLOWED_FIELDS)).toEqual(before);
  });

  it('differs between selections of transcripts', async () => {
    const tags = await Promise.all(['', '?include_clean=false'].map((query) => tagOf(`/v1/calls/call_1${query}`, globex)));
    await world.load([{ ...call, organization: GLOBEX, qa_blocks: [{ question: 'Q', answer: 'A' }] }]);
    const [whole, less] = await Promise.all(
      ['', '?include_clean=false'].map((query) => tagOf(`/v1/calls/call_1${query}`, globex)),
    );
    expect(whole).not.toBe(less);
    expect(tags).not.toContain(whole);
  });
});

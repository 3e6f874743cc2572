import { beforeAll, describe, expect, it } from 'vitest';
import { sharedWorld, tenant, type World } from '@crs/testing/world';
import { comparable, getExactly } from './_answers.ts';

const LONGEST = 'x'.repeat(128);
const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];

let world: World;
let acme: string;
let globex: string;

beforeAll(async () => {
  world = await sharedWorld();
  const call = (organization: string, id: string) => ({ type: 'call', organization, id, summary: `of ${organization}` });
  await world.load([
    ...[ACME, GLOBEX].map((id) => ({
      type: 'organization',
      id,
      name: id,
      rate_limit: { requests: 100_000, period_seconds: 60 },
    })),
    ...['shared', 'call_1', 'a.b:c-d_e', '..', LONGEST].map((id) => call(ACME, id)),
    ...['shared', 'foreign'].map((id) => call(GLOBEX, id)),
  ]);
  acme = await world.createKey(ACME);
  globex = await world.createKey(GLOBEX);
});

const get = (path: string, key = acme) => getExactly(world.stack.addresses.api, `/v1/calls/${path}`, key);

describe('a call id', () => {
  it.each(['call_1', 'a.b:c-d_e', 'a.b%3Ac-d%5Fe', LONGEST, '..', '%2E%2e', 'call_1?include_clean=false'])(
    '%s is found',
    async (path) => {
      expect((await get(path)).status).toBe(200);
    },
  );

  it('that exists in two organizations returns to each its own call', async () => {
    expect((await get('shared')).json.summary).toBe(`of ${ACME}`);
    expect((await get('shared', globex)).json.summary).toBe(`of ${GLOBEX}`);
  });

  it.each([
    ['malformed', '@'],
    ["another organization's", 'foreign'],
    ['in another case', 'CALL_1'],
    ['of the maximum length', 'y'.repeat(128)],
    ['too long', 'x'.repeat(129)],
    ['much too long', 'x'.repeat(10_000)],
    ['a space', '%20'],
    ['followed by a space', 'call_1%20'],
    ['a plus', 'call+1'],
    ['with a line break', 'call_1%0A'],
    ['with NUL', 'call_1%00'],
    ['NUL', '%00'],
    ['with a slash', 'call_1%2F'],
    ['a path', '%2e%2e%2Fv1%2Fcalls'],
    ['a dot', '.'],
    ['double-encoded', 'call%255F1'],
    ['Latin-1', '%FF'],
    ['undecodable', 'call_1%FF'],
    ['a lone percent sign', '%'],
    ['a truncated escape', '%4'],
    ['an invalid escape', '%zz'],
    ['a surrogate', '%ED%A0%80'],
    ['overlong UTF-8', '%C0%AF'],
    ['accented', 'caf%C3%A9'],
    ['an emoji', '%F0%9F%98%80'],
    ['a full-width digit', 'call_%EF%BC%91'],
    ['SQL', "'%3B--"],
    ['a LIKE pattern', 'call%25'],
    ['undecodable, with a query', '%FF?include_clean=true'],
  ])('that is %s gets the same 404 as an unknown id', async (_, path) => {
    const unknown = await get('unknown');
    expect(unknown.status).toBe(404);
    expect(unknown.json.error).toMatchObject({ code: 'not_found', message: 'There is no call with this id.' });
    expect(comparable(await get(path))).toEqual(comparable(unknown));
  });
});

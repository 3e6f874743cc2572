import { beforeAll, describe, expect, it } from 'vitest';
import { ALLOWED_FIELDS, DEFAULT_ALLOWED_FIELDS } from '@crs/records/allowed-fields';
import { tenant } from '@crs/testing/world';
import { organization, sharedAuthWorld, type SharedAuthWorld } from './_fixtures.ts';

const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];

let world: SharedAuthWorld;
beforeAll(async () => {
  world = await sharedAuthWorld();
});

const stored = async (id: string) => {
  const { organizations } = await world.operator.auth.listOrganizations({}, await world.operate());
  return organizations.find(({ organizationId }) => organizationId === id);
};
/** Imports one record. @returns accepted, unchanged or the refusal */
async function outcomeOf(record: object): Promise<string> {
  const { accepted, unchanged, refused } = await world.tryLoad([record]);
  return refused[0] ?? (accepted === 1 ? 'accepted' : unchanged === 1 ? 'unchanged' : 'neither');
}
const FULL = {
  name: 'Acme',
  write_surface: true,
  anonymize_interviewees: true,
  allowed_fields: ['summary', 'cost'],
  rate_limit: { requests: 1, period_seconds: 2 },
  tool_rate_limit: { requests: 3, period_seconds: 4 },
  delete_limit: 5,
  retain_calls: '3y',
  retain_by: 'created',
  retain_per_day: 7,
  clients: 'listed',
  client_hosts: ['claude.ai', 'b.example:8443', 'claude.ai'],
  own_tokens: true,
};
const SHOWN = {
  name: 'Acme',
  writeSurface: true,
  anonymizeInterviewees: true,
  allowedFields: { default: false, fields: ['summary', 'cost'] },
  rateLimit: { requests: 1, periodSeconds: 2 },
  toolRateLimit: { requests: 3, periodSeconds: 4 },
  deleteLimit: 5,
  retainCalls: '3y',
  retainBy: 'created',
  retainPerDay: 7,
  clients: 'listed',
  clientHosts: ['b.example:8443', 'claude.ai'],
  ownTokens: true,
};

describe('an imported organization', () => {
  it('has defaults for absent settings', async () => {
    const id = tenant('bare');
    expect(await outcomeOf({ type: 'organization', id })).toBe('accepted');
    expect(await stored(id)).toEqual({
      organizationId: id,
      oidcRedirectUri: `http://tools.example/sign-in/callback/${id}`,
      assertionIssuers: [],
      name: '',
      writeSurface: false,
      anonymizeInterviewees: false,
      allowedFields: { default: true, fields: DEFAULT_ALLOWED_FIELDS },
      rateLimit: { requests: 600, periodSeconds: 60 },
      toolRateLimit: { requests: 120, periodSeconds: 60 },
      deleteLimit: 1_000,
      retainCalls: 'none',
      retainBy: 'date',
      retainPerDay: 10_000,
      clients: 'any',
      clientHosts: [],
      ownTokens: false,
      createdAt: expect.any(Date),
    });
  });

  it('has the given settings, and is unchanged the second time', async () => {
    expect(await outcomeOf(organization(ACME, FULL))).toBe('accepted');
    const first = await stored(ACME);
    expect(first).toMatchObject(SHOWN);
    expect(await outcomeOf(organization(ACME, FULL))).toBe('unchanged');
    expect(await stored(ACME)).toEqual(first);
  });

  it('keeps settings that a later record omits', async () => {
    const id = tenant('keeps');
    await world.load([organization(id, FULL)]);
    expect(await outcomeOf({ type: 'organization', id })).toBe('unchanged');
    expect(await stored(id)).toMatchObject(SHOWN);
    for (const [change, shown] of [
      [{ name: 'New' }, { name: 'New' }],
      [{ write_surface: false }, { writeSurface: false }],
      [{ anonymize_interviewees: false }, { anonymizeInterviewees: false }],
      [{ allowed_fields: [] }, { allowedFields: { default: false, fields: [] } }],
      [{ rate_limit: { requests: 9, period_seconds: 9 } }, { rateLimit: { requests: 9, periodSeconds: 9 } }],
      [{ tool_rate_limit: { requests: 8, period_seconds: 8 } }, { toolRateLimit: { requests: 8, periodSeconds: 8 } }],
      [{ delete_limit: 7 }, { deleteLimit: 7 }],
      [{ retain_calls: '90d' }, { retainCalls: '90d' }],
      [{ retain_by: 'date' }, { retainBy: 'date' }],
      [{ retain_per_day: 8 }, { retainPerDay: 8 }],
      [{ clients: 'any' }, { clients: 'any' }],
      [{ client_hosts: [] }, { clientHosts: [] }],
      [{ own_tokens: false }, { ownTokens: false }],
    ]) {
      const before = await stored(id);
      expect(await outcomeOf({ type: 'organization', id, ...change })).toBe('accepted');
      expect(await stored(id)).toEqual({ ...before, ...shown });
    }
  });

  it('keeps settings that are null', async () => {
    const id = tenant('nulls');
    await world.load([organization(id, FULL)]);
    const { allowed_fields: _, ...settings } = FULL;
    const nulls = Object.fromEntries(Object.keys(settings).map((name) => [name, null]));
    expect(await outcomeOf({ type: 'organization', id, ...nulls })).toBe('unchanged');
    expect(await stored(id)).toMatchObject(SHOWN);
  });

  it('returns to the default fields if they are null, and stores a list in a fixed order', async () => {
    const id = tenant('fields');
    const fieldsAfter = async (allowed_fields: string[] | null) => {
      await world.load([organization(id, { allowed_fields })]);
      return (await stored(id))!.allowedFields;
    };
    expect(await fieldsAfter([...ALLOWED_FIELDS].toReversed())).toEqual({ default: false, fields: ALLOWED_FIELDS });
    expect(await fieldsAfter(['cost', 'summary', 'cost'])).toEqual({ default: false, fields: ['summary', 'cost'] });
    expect(await outcomeOf(organization(id, { allowed_fields: ['summary', 'cost'] }))).toBe('unchanged');
    expect(await fieldsAfter(null)).toEqual({ default: true, fields: DEFAULT_ALLOWED_FIELDS });
  });

  it('has the settings of the later record in a file', async () => {
    const id = tenant('twice');
    const lines = [organization(id, { name: 'First', write_surface: true }), organization(id, { name: 'Second' })];
    expect(await world.tryLoad(lines)).toEqual({ accepted: 2, unchanged: 0, refused: [] });
    expect(await stored(id)).toMatchObject({ name: 'Second', writeSurface: true });
  });

  it('changes no other organization', async () => {
    const before = await stored(ACME);
    await world.load([organization(GLOBEX, { name: 'Globex', write_surface: false })]);
    expect(await stored(ACME)).toEqual(before);
  });
});

const TEXT_200 = 'must have 1 to 200 characters';
const ID = 'must be 1 to 40 of a-z, 0-9 and "-", not starting with "-"';
describe('an organization record', () => {
  it.each<[object]>([
    [{ id: 'a' }],
    [{ id: '0-9' }],
    [{ id: 'a'.repeat(40) }],
    [{ name: 'x' }],
    [{ name: '😀'.repeat(200) }],
    [{ rate_limit: { requests: 1, period_seconds: 1 } }],
    [{ rate_limit: { requests: 1_000_000_000, period_seconds: 86_400 } }],
    [{ tool_rate_limit: { requests: 1, period_seconds: 1 } }],
    [{ tool_rate_limit: { requests: 1_000_000_000, period_seconds: 86_400 } }],
    [{ delete_limit: 1 }],
    [{ delete_limit: 1_000_000_000 }],
    [{ allowed_fields: [...ALLOWED_FIELDS] }],
    [{ client_hosts: Array.from({ length: 100 }, (_, i) => `h${i}.example`) }],
  ])('is accepted at the limit: %j', async (change) => {
    // Another test file may already have created an organization with the shortest id.
    expect(['accepted', 'unchanged']).toContain(await outcomeOf({ type: 'organization', id: tenant('limits'), ...change }));
  });

  it.each<[string, string, object]>([
    ['id', ID, { id: '' }],
    ['id', ID, { id: 'A' }],
    ['id', ID, { id: '-a' }],
    ['id', ID, { id: '*' }],
    ['id', ID, { id: 'a'.repeat(41) }],
    ['id', ID, { id: 7 }],
    ['name', TEXT_200, { name: '' }],
    ['name', TEXT_200, { name: '😀'.repeat(201) }],
    ['name', 'must be text', { name: 7 }],
    ['name', 'must not contain the NUL character', { name: 'a\u0000b' }],
    ['name', 'must not contain a lone surrogate', { name: 'a\ud800b' }],
    ['write_surface', 'must be true or false', { write_surface: 'on' }],
    ['anonymize_interviewees', 'must be true or false', { anonymize_interviewees: 1 }],
    ['allowed_fields', 'must be a list', { allowed_fields: 'summary' }],
    ['allowed_fields', `must have at most ${ALLOWED_FIELDS.length} items`, { allowed_fields: [...ALLOWED_FIELDS, 'x'] }],
    ['allowed_fields[1]', `must be one of ${ALLOWED_FIELDS.join(', ')}`, { allowed_fields: ['summary', 'Summary'] }],
    // The items are invalid, too. The reason is their number, so it was checked before any item.
    ['clients', 'must be one of any, listed', { clients: 'none' }],
    ['client_hosts', 'must have at most 100 items', { client_hosts: Array(101).fill('a.example') }],
    ['client_hosts[1]', 'must be a host name in lower case, like claude.ai', { client_hosts: ['a.example', 'A.example'] }],
    ['own_tokens', 'must be true or false', { own_tokens: 'on' }],
    ['rate_limit', 'must be an object', { rate_limit: '600/60' }],
    ['rate_limit.requests', 'is required', { rate_limit: { period_seconds: 60 } }],
    ['rate_limit.requests', 'must be at least 1', { rate_limit: { requests: 0, period_seconds: 60 } }],
    ['rate_limit.requests', 'must be at most 1000000000', { rate_limit: { requests: 1_000_000_001, period_seconds: 60 } }],
    ['rate_limit.requests', 'must be a whole number', { rate_limit: { requests: 1.5, period_seconds: 60 } }],
    ['rate_limit.period_seconds', 'must be at least 1', { rate_limit: { requests: 1, period_seconds: 0 } }],
    ['tool_rate_limit.period_seconds', 'must be at most 86400', { tool_rate_limit: { requests: 1, period_seconds: 86_401 } }],
    ['delete_limit', 'must be at least 1', { delete_limit: 0 }],
    ['retain_calls', 'must be 1y to 100y, 1d to 99999d, or none', { retain_calls: '3m' }],
    ['retain_per_day', 'must be at least 1', { retain_per_day: 0 }],
    ['delete_limit', 'must be at most 1000000000', { delete_limit: 1_000_000_001 }],
    ['tool_rate_limit.unit', 'is not a known property', { tool_rate_limit: { requests: 1, period_seconds: 1, unit: 's' } }],
    ['organization', 'is not a known property', { organization: 'bad' }],
    ['Name', 'is not a known property', { Name: 'x' }],
  ])('is refused with a bad %s: %s', async (field, reason, change) => {
    const before = await world.rows('select * from auth.organizations order by 1');
    const record = { type: 'organization', id: tenant('bad'), write_surface: true, ...change };
    expect(await outcomeOf(record)).toBe(`1: ${field}: ${reason}`);
    expect(await world.rows('select * from auth.organizations order by 1')).toEqual(before);
  });
});

import { beforeAll, describe, expect, it } from 'vitest';
import { ALLOWED_FIELDS, DEFAULT_ALLOWED_FIELDS } from '@crs/records/allowed-fields';
import type { OrganizationSettings } from '@crs/proto/crs/auth/v1/admin';
import { tenant } from '@crs/testing/world';
import { failureOf, sharedAuthWorld, type SharedAuthWorld } from './_fixtures.ts';

const [ACME, GLOBEX, NOWHERE] = [tenant('acme'), tenant('globex'), tenant('nowhere')];

let world: SharedAuthWorld;
beforeAll(async () => {
  world = await sharedAuthWorld();
});

const ABSENT: OrganizationSettings = {
  name: undefined,
  writeSurface: undefined,
  anonymizeInterviewees: undefined,
  allowedFields: undefined,
  rateLimit: undefined,
  toolRateLimit: undefined,
  deleteLimit: undefined,
  oidcProvider: undefined,
  assertionIssuers: undefined,
};
const create = async (id: string, settings: Partial<OrganizationSettings> = {}) => {
  const request = { settings: { ...ABSENT, name: `The ${id}`, ...settings } };
  return (await world.operator.auth.createOrganization(request, await world.operate(id))).organization!;
};
const update = async (id: string, settings?: Partial<OrganizationSettings>) => {
  const request = { settings: settings && { ...ABSENT, ...settings } };
  return (await world.operator.auth.updateOrganization(request, await world.operate(id))).organization!;
};
const list = async () => (await world.operator.auth.listOrganizations({}, await world.operate())).organizations;
const only = (...fields: string[]) => ({ default: false, fields });
const DEFAULTS = {
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
};
const ALL_SET = {
  name: 'All set',
  writeSurface: true,
  anonymizeInterviewees: true,
  allowedFields: only('summary', 'cost'),
  rateLimit: { requests: 1, periodSeconds: 2 },
  toolRateLimit: { requests: 3, periodSeconds: 4 },
  deleteLimit: 5,
  retainCalls: '3y',
  retainBy: 'created',
  retainPerDay: 7,
  clients: 'listed',
  clientHosts: { hosts: ['claude.ai', 'b.example:8443', 'Claude.AI'] },
  ownTokens: true,
};
const ALL_SHOWN = { ...ALL_SET, allowedFields: only('summary', 'cost'), clientHosts: ['b.example:8443', 'claude.ai'] };
/** As many hosts as there may be. */
const HOSTS = Array.from({ length: 100 }, (_, i) => `h${i}.example`);
const LABEL = 'x'.repeat(63);
const LONGEST = `${LABEL}.${LABEL}.${LABEL}.${LABEL.slice(2)}`;

/** Settings on both sides of each limit. */
const GOOD: Partial<OrganizationSettings>[] = [
  { name: 'x' },
  { name: '😀'.repeat(200) },
  { rateLimit: { requests: 1, periodSeconds: 1 } },
  { rateLimit: { requests: 1_000_000_000, periodSeconds: 86_400 } },
  { toolRateLimit: { requests: 1, periodSeconds: 1 } },
  { toolRateLimit: { requests: 1_000_000_000, periodSeconds: 86_400 } },
  { deleteLimit: 1 },
  { deleteLimit: 1_000_000_000 },
  ...['none', '1y', '100y', '1d', '99999d'].map((retainCalls) => ({ retainCalls })),
  { retainBy: 'created' },
  { retainPerDay: 1 },
  { retainPerDay: 1_000_000_000 },
  { clients: 'listed' },
  { clientHosts: { hosts: [] } },
  { clientHosts: { hosts: HOSTS } },
  { clientHosts: { hosts: [LONGEST, `${LONGEST}:65535`, 'a', 'xn--bcher-kva.example'] } },
];
const BAD: [string, Partial<OrganizationSettings>][] = [
  ['name', { name: '' }],
  ['name', { name: '😀'.repeat(201) }],
  ['name', { name: 'a\u0000b' }],
  ['rate_limit.requests', { rateLimit: { requests: 0, periodSeconds: 60 } }],
  ['rate_limit.requests', { rateLimit: { requests: 1_000_000_001, periodSeconds: 60 } }],
  ['rate_limit.requests', { rateLimit: { requests: 4_294_967_295, periodSeconds: 60 } }],
  ['rate_limit.period_seconds', { rateLimit: { requests: 1, periodSeconds: 0 } }],
  ['rate_limit.period_seconds', { rateLimit: { requests: 1, periodSeconds: 86_401 } }],
  ['tool_rate_limit.requests', { toolRateLimit: { requests: 0, periodSeconds: 60 } }],
  ['tool_rate_limit.requests', { toolRateLimit: { requests: 1_000_000_001, periodSeconds: 60 } }],
  ['tool_rate_limit.period_seconds', { toolRateLimit: { requests: 1, periodSeconds: 86_401 } }],
  ['delete_limit', { deleteLimit: 0 }],
  ['delete_limit', { deleteLimit: 1_000_000_001 }],
  ...['', '0d', '101y', '100000d', '1m', '01d', '1Y', '90', '1y '].map((retainCalls): (typeof BAD)[number] => [
    'retain_calls',
    { retainCalls },
  ]),
  ['retain_by', { retainBy: 'updated' }],
  ['retain_per_day', { retainPerDay: 0 }],
  ['retain_per_day', { retainPerDay: 1_000_000_001 }],
  ['clients', { clients: '' }],
  ['clients', { clients: 'Listed' }],
  ['client_hosts', { clientHosts: { hosts: [...HOSTS, 'one-more.example'] } }],
  ...[
    `${LONGEST}x`,
    `${LABEL}x.example`,
    '',
    '.',
    'a.',
    '.a',
    '-a',
    'a-',
    'a b',
    'a/b',
    'u@a',
    '*.a',
    'a:',
    'a:0',
    'https://a',
    'a\n',
  ].map((host): [string, Partial<OrganizationSettings>] => ['client_hosts', { clientHosts: { hosts: ['claude.ai', host] } }]),
  ['allowed_fields', { allowedFields: only('summary', 'transcript') }],
  ['allowed_fields', { allowedFields: only('Summary') }],
  ['allowed_fields', { allowedFields: only('') }],
  ['allowed_fields', { allowedFields: only('interviewee') }],
];

describe('a new organization', () => {
  it('has the defaults', async () => {
    const id = tenant('defaults');
    expect(await create(id)).toEqual({
      organizationId: id,
      name: `The ${id}`,
      oidcRedirectUri: `http://tools.example/sign-in/callback/${id}`,
      assertionIssuers: [],
      ...DEFAULTS,
      createdAt: expect.any(Date),
    });
  });

  it('may have every setting', async () => {
    expect(await create(tenant('all-set'), ALL_SET)).toMatchObject(ALL_SHOWN);
  });

  it('needs a name', async () => {
    expect(await failureOf(create(NOWHERE, { name: undefined }))).toMatchObject({ kind: 'invalid_argument', field: 'name' });
    const bare = world.operator.auth.createOrganization({ settings: undefined }, await world.operate(NOWHERE));
    expect(await failureOf(bare)).toMatchObject({ kind: 'invalid_argument', field: 'name' });
  });

  it('has a unique id; a second creation changes nothing', async () => {
    const id = tenant('taken');
    await create(id);
    expect(await failureOf(create(id, ALL_SET))).toMatchObject({ kind: 'already_exists', field: 'organization' });
    expect((await list()).find(({ organizationId }) => organizationId === id)).toMatchObject({
      name: `The ${id}`,
      ...DEFAULTS,
    });
  });

  it('is created once, even if many calls come at the same time', async () => {
    const id = tenant('race');
    const outcomes = await Promise.all(Array.from({ length: 5 }, () => failureOf(create(id))));
    expect(outcomes.filter((outcome) => outcome === undefined)).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome?.kind === 'already_exists')).toHaveLength(4);
  });

  it.each(BAD)('is not created with a bad %s (%#)', async (field, settings) => {
    const id = tenant('bad');
    expect(await failureOf(create(id, settings))).toMatchObject({ kind: 'invalid_argument', field });
    expect((await list()).map(({ organizationId }) => organizationId)).not.toContain(id);
  });
});

describe('a change of settings', () => {
  beforeAll(async () => {
    await create(ACME);
    await create(GLOBEX);
  });

  it.each(GOOD)('is accepted: %j', async (settings) => {
    const { clientHosts, ...shown } = settings;
    const hosts = clientHosts && { clientHosts: [...clientHosts.hosts].sort() };
    expect(await update(ACME, settings)).toMatchObject({ ...shown, ...hosts });
  });

  it.each(BAD)('with a bad %s is refused as a whole (%#)', async (field, settings) => {
    const before = await update(ACME);
    expect(await failureOf(update(ACME, { writeSurface: !before.writeSurface, ...settings }))).toMatchObject({
      kind: 'invalid_argument',
      field,
    });
    expect(await update(ACME)).toEqual(before);
  });

  it('keeps omitted settings', async () => {
    const start = await update(ACME, ALL_SET);
    expect(start).toMatchObject(ALL_SHOWN);
    const changes: Partial<Omit<OrganizationSettings, 'oidcProvider' | 'assertionIssuers' | 'clientHosts'>>[] = [
      { name: 'Another' },
      { writeSurface: false },
      { anonymizeInterviewees: false },
      { allowedFields: only() },
      { rateLimit: { requests: 10, periodSeconds: 20 } },
      { toolRateLimit: { requests: 30, periodSeconds: 40 } },
      { clients: 'any' },
      { ownTokens: false },
    ];
    let expected = start;
    for (const change of changes) {
      expected = { ...expected, ...change };
      expect(await update(ACME, change)).toEqual(expected);
    }
    expected = { ...expected, clientHosts: [] };
    expect(await update(ACME, { clientHosts: { hosts: [] } })).toEqual(expected);
    expect(await update(ACME, {})).toEqual(expected);
    expect(await update(ACME, undefined)).toEqual(expected);
  });

  it('sets the fields to a list in a fixed order without repetitions, to none, or to the default', async () => {
    const fieldsOf = async (allowedFields: { default: boolean; fields: string[] }) =>
      (await update(ACME, { allowedFields })).allowedFields;
    expect(await fieldsOf(only('summary', 'interviewee.name', 'summary'))).toEqual(only('interviewee.name', 'summary'));
    expect(await fieldsOf(only(...ALLOWED_FIELDS.toReversed()))).toEqual(only(...ALLOWED_FIELDS));
    expect(await fieldsOf(only())).toEqual(only());
    expect(await fieldsOf({ default: true, fields: [] })).toEqual({ default: true, fields: DEFAULT_ALLOWED_FIELDS });
    expect(await fieldsOf({ default: true, fields: ['cost'] })).toEqual({ default: true, fields: DEFAULT_ALLOWED_FIELDS });
  });

  it('changes no settings of another organization', async () => {
    await update(ACME, ALL_SET);
    expect((await list()).find(({ organizationId }) => organizationId === GLOBEX)).toMatchObject({
      name: `The ${GLOBEX}`,
      ...DEFAULTS,
    });
  });

  it('needs an existing organization', async () => {
    expect((await failureOf(update(NOWHERE, ALL_SET)))?.kind).toBe('not_found');
    expect((await failureOf(update(NOWHERE)))?.kind).toBe('not_found');
  });
});

it('lists organizations by id, in code-point order', async () => {
  const createdIds = ['-b', '1', 'b', '0'].map((end) => `${ACME}${end}`);
  for (const id of createdIds) await create(id);
  const ids = (await list()).map(({ organizationId }) => organizationId);
  expect(ids).toEqual(ids.toSorted((a, b) => (a < b ? -1 : 1)));
  expect(ids).toEqual(expect.arrayContaining([...createdIds, ACME, GLOBEX]));
});

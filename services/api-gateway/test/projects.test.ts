import { beforeAll, describe, expect, it } from 'vitest';
import { sharedWorld, tenant, type World } from '@crs/testing/world';

const IMPORTED = '11111111-2222-4333-8444-555555555555';
const UNKNOWN = '99999999-2222-4333-8444-555555555555';

/** Two organizations that have a project with the same id, and users and offices with the same names. */
const [ACME, GLOBEX, PLAIN] = [tenant('acme'), tenant('globex'), tenant('plain')];

let world: World;
let acme: string;
let globex: string;
let readOnly: string;
let plain: string;

beforeAll(async () => {
  world = await sharedWorld();
  await world.load([
    ...[ACME, GLOBEX].flatMap((organization) => [
      {
        type: 'organization',
        id: organization,
        name: organization,
        write_surface: true,
        rate_limit: { requests: 100_000, period_seconds: 60 },
      },
      { type: 'billing_office', organization, name: 'Zürich' },
      { type: 'billing_office', organization, name: 'London', is_default: organization === ACME },
      { type: 'billing_office', organization, name: 'a small office' },
      { type: 'user', organization, email: 'Ann@acme.example', name: `Ann of ${organization}` },
      { type: 'user', organization, email: 'bob@acme.example', name: 'Bob' },
      { type: 'user', organization, email: `only@${organization === ACME ? 'acme' : 'globex'}.example`, name: 'Only' },
      { type: 'user', organization, email: 'gone@acme.example', name: 'Gone' },
      {
        type: 'project',
        organization,
        id: IMPORTED,
        name: `Imported by ${organization}`,
        status: 'closed',
        created_at: '2025-01-01T00:00:00Z',
        billing_office_name: 'London',
        members: [
          { email: 'bob@acme.example', role: 'lead' },
          { email: 'ann@acme.example', role: 'lead' },
          { email: 'bob@acme.example', role: 'member' },
        ],
      },
    ]),
    { type: 'organization', id: PLAIN, name: 'plain', rate_limit: { requests: 100_000, period_seconds: 60 } },
  ]);
  await world.operator.auth.setUserDisabled({ email: 'gone@acme.example', disabled: true }, await world.operator.operator(ACME));
  acme = await world.createKey(ACME);
  globex = await world.createKey(GLOBEX);
  plain = await world.createKey(PLAIN);
  readOnly = await world.createKey(ACME, { rights: ['read'] });
});

const JSON_TYPE = { 'content-type': 'application/json' };
const post = (body: unknown, { key = acme, headers = {} }: { key?: string; headers?: Record<string, string> } = {}) =>
  world.rest('/v1/projects', {
    key,
    method: 'POST',
    headers: { ...JSON_TYPE, ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
const MINIMAL = { name: 'New', lead_email: 'ann@acme.example' };

describe('GET /v1/billing-offices', () => {
  it('returns the default office first, and the others by code point', async () => {
    expect((await world.rest('/v1/billing-offices', { key: acme })).json).toEqual({
      data: [
        { name: 'London', is_default: true },
        { name: 'Zürich', is_default: false },
        { name: 'a small office', is_default: false },
      ],
    });
    expect((await world.rest('/v1/billing-offices', { key: globex })).json.data[0]).toEqual({
      name: 'London',
      is_default: false,
    });
  });

  it('refuses parameters', async () => {
    expect((await world.rest('/v1/billing-offices?page=1', { key: acme })).json.error.message).toMatch(/^page: /);
  });
});

describe('POST /v1/projects', () => {
  it('creates a project with its lead and members, billed by the default office', async () => {
    const created = await post({
      name: '  Boxes  ',
      lead_email: ' ANN@ACME.example',
      member_emails: ['only@acme.example', 'Bob@acme.example', 'bob@acme.example', 'ann@acme.example'],
      summary: 'About boxes.',
    });
    expect(created.status).toBe(201);
    const { project_id: id, created_at: createdAt, ...rest } = created.json;
    expect(rest).toEqual({
      name: 'Boxes',
      summary: 'About boxes.',
      status: 'active',
      lead: { name: `Ann of ${ACME}`, email: 'Ann@acme.example' },
      members: [
        { name: 'Bob', email: 'bob@acme.example' },
        { name: 'Only', email: 'only@acme.example' },
      ],
      billing_office_name: 'London',
    });
    expect(Object.keys(created.json)).toEqual([
      'project_id',
      'name',
      'summary',
      'status',
      'created_at',
      'lead',
      'members',
      'billing_office_name',
    ]);
    expect(Date.parse(createdAt)).toBeGreaterThan(Date.now() - 60_000);
    expect(created.headers.get('location')).toBe(`/v1/projects/${id}`);
    const read = await world.rest(`/v1/projects/${id.toUpperCase()}`, { key: acme });
    expect(read.json).toEqual(created.json);
    expect((await world.rest(`/v1/projects/${id}`, { key: globex })).status).toBe(404);
  });

  it('treats null as absent, and uses the named office, or none if there is no default', async () => {
    const named = await post({ ...MINIMAL, member_emails: null, summary: null, billing_office_name: 'Zürich' });
    expect(named.json).toMatchObject({ summary: null, members: [], billing_office_name: 'Zürich' });
    expect((await post(MINIMAL, { key: globex })).json.billing_office_name).toBeNull();
  });

  it.each([
    ['name', { name: undefined }],
    ['name', { name: '   ' }],
    ['name', { name: 'x'.repeat(201) }],
    ['name', { name: 1 }],
    ['name', { name: 'a\u0000b' }],
    ['name', { name: null }],
    ['lead_email', { lead_email: undefined }],
    ['lead_email', { lead_email: 'nobody' }],
    ['lead_email', { lead_email: 'nobody@acme.example' }],
    ['lead_email', { lead_email: 'gone@acme.example' }],
    ['lead_email', { lead_email: 'only@globex.example' }],
    ['member_emails', { member_emails: 'ann@acme.example' }],
    ['member_emails', { member_emails: Array.from({ length: 101 }, (_, n) => `u${n}@acme.example`) }],
    ['member_emails[0]', { member_emails: ['a'] }],
    ['member_emails', { member_emails: ['nobody@acme.example'] }],
    ['billing_office_name', { billing_office_name: 'london' }],
    ['billing_office_name', { billing_office_name: 'Nowhere' }],
    ['summary', { summary: 'x'.repeat(2001) }],
    ['other', { other: 1 }],
  ])('names the invalid property in the error: %s for %j', async (field, change) => {
    const { status, json } = await post({ ...MINIMAL, ...change });
    expect(status).toBe(400);
    expect(json.error.code).toBe('bad_request');
    expect(json.error.message.startsWith(`${field}:`), json.error.message).toBe(true);
  });

  it('lists the known properties in the error for an unknown one', async () => {
    const { json } = await post({ ...MINIMAL, lead: 'ann@acme.example' });
    expect(json.error.message).toBe(
      'lead: is not a known property. Known: name, lead_email, member_emails, billing_office_name, summary.',
    );
  });

  it('returns the same error for an unknown user, a disabled one and one of another organization', async () => {
    const messages = await Promise.all(
      ['nobody@acme.example', 'gone@acme.example', 'only@globex.example'].map(
        async (email) => (await post({ ...MINIMAL, lead_email: email })).json.error.message,
      ),
    );
    expect(new Set(messages).size).toBe(1);
  });

  it('accepts the longest name, the longest summary and the largest number of members', async () => {
    const emails = Array.from({ length: 100 }, (_, n) => `u${n}@acme.example`);
    await world.load(emails.map((email) => ({ type: 'user', organization: ACME, email, name: 'U' })));
    const { status, json } = await post({
      ...MINIMAL,
      name: '🙂'.repeat(200),
      summary: '🙂'.repeat(2000),
      member_emails: emails,
    });
    expect(status).toBe(201);
    expect(json.members).toHaveLength(100);
  });

  it.each([
    ['without a type', { 'content-type': '' }, '{}', 415],
    ['of another type', { 'content-type': 'text/plain' }, '{}', 415],
    ['in another charset', { 'content-type': 'application/json; charset=utf-16' }, '{}', 415],
    ['compressed', { 'content-encoding': 'gzip' }, '{}', 415],
    ['too large', {}, `{"name":"${'x'.repeat(64 * 1024)}"}`, 413],
    ['malformed JSON', {}, '{"name":', 400],
    ['empty', {}, '', 400],
    ['an array', {}, '[]', 400],
    ['deeply nested', {}, `${'['.repeat(32_000)}${']'.repeat(32_000)}`, 400],
    ['an object with __proto__', {}, '{"name":"x","lead_email":"ann@acme.example","__proto__":{"a":1}}', 400],
  ])('refuses a body that is %s', async (_name, headers, body, status) => {
    expect((await post(body, { headers })).status).toBe(status);
  });

  it('accepts a body of 64 KiB, and refuses one byte more', async () => {
    const body = (bytes: number) => JSON.stringify(MINIMAL).padEnd(bytes, ' ');
    expect((await post(body(64 * 1024))).status).toBe(201);
    expect((await post(body(64 * 1024 + 1))).status).toBe(413);
  });

  it('refuses 101 member e-mails because of their number, before it validates one', async () => {
    // The first item is invalid too. The error states the number, so no item was validated.
    const { status, json } = await post({ ...MINIMAL, member_emails: ['', ...Array(100).fill('ann@acme.example')] });
    expect([status, json.error.message]).toEqual([400, 'member_emails: must have at most 100 items']);
  });
});

describe('GET /v1/projects/{project_id}', () => {
  it('returns any project of the organization, with further leads among the members', async () => {
    const { json } = await world.rest(`/v1/projects/${IMPORTED}`, { key: acme });
    expect(json).toEqual({
      project_id: IMPORTED,
      name: `Imported by ${ACME}`,
      summary: null,
      status: 'closed',
      created_at: '2025-01-01T00:00:00.000Z',
      lead: { name: `Ann of ${ACME}`, email: 'Ann@acme.example' },
      members: [{ name: 'Bob', email: 'bob@acme.example' }],
      billing_office_name: 'London',
    });
    expect((await world.rest(`/v1/projects/${IMPORTED}`, { key: globex })).json.name).toBe(`Imported by ${GLOBEX}`);
  });

  it('returns 400 for a malformed id, and 404 for an unknown one', async () => {
    expect((await world.rest('/v1/projects/nonsense', { key: acme })).status).toBe(400);
    expect((await world.rest('/v1/projects/%FF', { key: acme })).status).toBe(400);
    expect((await world.rest(`/v1/projects/${UNKNOWN}`, { key: acme })).status).toBe(404);
  });
});

describe('the write surface', () => {
  it.each([
    ['GET', '/v1/billing-offices'],
    ['GET', '/v1/projects'],
    ['GET', '/v1/changes?types=project'],
    ['GET', `/v1/projects/${IMPORTED}`],
    ['POST', '/v1/projects'],
  ])('does not exist for an organization that is not enabled for it: %s %s', async (method, path) => {
    const { status, json } = await world.rest(path, {
      key: plain,
      method,
      ...(method === 'POST' && { body: 'nonsense', headers: { 'content-type': 'text/plain' } }),
    });
    expect([status, json.error.code]).toEqual([404, 'not_found']);
    expect(json.error.message).toMatch(/not enabled for the write surface/);
  });

  it('allows only reads with a read-only key', async () => {
    expect((await world.rest('/v1/billing-offices', { key: readOnly })).status).toBe(200);
    const { status, json } = await post(MINIMAL, { key: readOnly });
    expect([status, json.error.code]).toEqual([404, 'not_found']);
    expect(json.error.message).toMatch(/doesn't have the right "write"/);
  });
});

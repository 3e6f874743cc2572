import { beforeAll, describe, expect, it } from 'vitest';
import { sharedWorld, tenant, type World } from '@crs/testing/world';

/** Two organizations with users of the same names. The tests use the same idempotency keys in both. */
const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];
const MINIMAL = { name: 'New', lead_email: 'ann@acme.example' };

let world: World;
let acme: string;
let globex: string;

beforeAll(async () => {
  world = await sharedWorld();
  await world.load(
    [ACME, GLOBEX].flatMap((organization) => [
      {
        type: 'organization',
        id: organization,
        name: organization,
        write_surface: true,
        rate_limit: { requests: 100_000, period_seconds: 60 },
      },
      ...['Ann', 'Bob', 'Only'].map((name) => ({
        type: 'user',
        organization,
        email: `${name.toLowerCase()}@acme.example`,
        name,
      })),
    ]),
  );
  acme = await world.createKey(ACME);
  globex = await world.createKey(GLOBEX);
});

/** Sends a request to create a project. @param as the API key */
const keyed = (key: string, body: object = MINIMAL, as = acme) =>
  world.rest('/v1/projects', {
    key: as,
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': key },
    body: JSON.stringify(body),
  });

describe('Idempotency-Key', () => {
  const count = async () => {
    const { rows } = await world.query(`select count(*)::int as n from projects.projects where organization = $1`, [ACME]);
    return rows[0].n as number;
  };

  it('replays the original response, even after changes and for an equivalent body', async () => {
    const first = await keyed('same', { ...MINIMAL, member_emails: ['bob@acme.example', 'only@acme.example'] });
    expect(first.headers.has('idempotent-replayed')).toBe(false);
    const before = await count();
    await world.load([{ type: 'user', organization: ACME, email: 'only@acme.example', name: 'Renamed' }]);
    const again = await keyed('same', {
      member_emails: ['ONLY@acme.example', 'bob@acme.example', 'ann@acme.example'],
      lead_email: 'Ann@Acme.Example',
      name: ' New ',
      summary: null,
    });
    expect(again.status).toBe(201);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.json).toEqual(first.json);
    expect(await count()).toBe(before);
  });

  it('with a different body gets 422', async () => {
    expect((await keyed('other')).status).toBe(201);
    const { status, json } = await keyed('other', { ...MINIMAL, name: 'Another' });
    expect([status, json.error.code]).toEqual([422, 'bad_request']);
  });

  it('applies within one organization', async () => {
    const ours = await keyed('shared');
    const theirs = await keyed('shared', MINIMAL, globex);
    expect(theirs.status).toBe(201);
    expect(theirs.json.project_id).not.toBe(ours.json.project_id);
  });

  it('does not replay a failure', async () => {
    expect((await keyed('failed', { ...MINIMAL, lead_email: 'nobody@acme.example' })).status).toBe(400);
    expect((await keyed('failed', { ...MINIMAL, name: 'Mended' })).status).toBe(201);
  });

  it('creates one project for many concurrent requests', async () => {
    const before = await count();
    const answers = await Promise.all(Array.from({ length: 20 }, () => keyed('raced')));
    const created = answers.filter(({ status }) => status === 201);
    expect(created.length).toBeGreaterThanOrEqual(1);
    expect(new Set(created.map(({ json }) => json.project_id)).size).toBe(1);
    for (const { status, headers } of answers.filter((answer) => answer.status !== 201)) {
      expect(status).toBe(409);
      expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    }
    expect(await count()).toBe(before + 1);
  });

  it.each([
    ['', 400],
    ['x'.repeat(255), 201],
    ['x'.repeat(256), 400],
    ['ümlaut', 400],
  ])('of %j gets %i', async (key, status) => {
    expect((await keyed(key)).status).toBe(status);
  });
});

import { sharedWorld, tenant, type World } from '@crs/testing/world';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ALPHA, ANN, BETA, BOB, CID, grantOf, office, project, projectsOf, tenantRecords, user } from './_records.ts';

const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];

let world: World;
beforeAll(async () => {
  world = await sharedWorld();
  await world.load([...tenantRecords(ACME), ...tenantRecords(GLOBEX)]);
  await world.operator.auth.setUserDisabled({ email: CID, disabled: true }, await world.operator.operator(ACME));
});
beforeEach(async () => {
  for (const table of ['projects.projects', 'auth.projects'])
    await world.query(`delete from ${table} where organization in ($1, $2)`, [ACME, GLOBEX]);
});

const load = (...lines: object[]) => world.tryLoad(lines);
const counts = (accepted: number, unchanged: number) => ({ accepted, unchanged, refused: [] });
const lead = (email: string) => ({ email, role: 'lead' });
const member = (email: string) => ({ email, role: 'member' });

const FULL = project(ACME, ALPHA, {
  name: 'Boxes',
  summary: 'About boxes.',
  status: 'active',
  is_archived: true,
  created_at: '2025-01-01T10:00:00.1239+01:00',
  created_by: ANN,
  billing_office_name: 'Paris',
  members: [lead(ANN), member(BOB)],
});
const STORED = {
  id: ALPHA,
  name: 'Boxes',
  summary: 'About boxes.',
  status: 'active',
  is_archived: true,
  created_at: new Date('2025-01-01T09:00:00.123Z'),
  billing_office_name: 'Paris',
};
const EMPTY = { name: null, summary: null, status: null, is_archived: false, billing_office_name: null };

describe('a project', () => {
  it('is stored with all of its fields, and its creator and members are stored at auth', async () => {
    expect(await load(FULL)).toEqual(counts(1, 0));
    expect(await projectsOf(world, ACME)).toEqual([STORED]);
    expect(await grantOf(world, ACME, ALPHA)).toEqual({ createdBy: ANN, roles: [`${ANN} lead`, `${BOB} member`] });
    expect(await projectsOf(world, GLOBEX)).toEqual([]);
    expect(await grantOf(world, GLOBEX, ALPHA)).toBeUndefined();
  });

  it('has at most 1,000 members', async () => {
    const unknownUsers = (count: number) => Array.from({ length: count }, (_, i) => member(`${i}@example.com`));
    const { refused } = await load(...[1_000, 1_001].map((count) => project(ACME, ALPHA, { members: unknownUsers(count) })));
    expect(refused).toEqual([
      '1: members[0].email: must be the e-mail of a user of this organization',
      '2: members: must have at most 1000 items',
    ]);
  });

  it('may be in a batch of 1,000 projects that name 5 MB of e-mail addresses', async () => {
    const members = Array.from({ length: 40 }, (_, i) => member(`${'x'.repeat(120)}${i}@example.com`));
    const id = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
    const lines = Array.from({ length: 1_000 }, (_, n) => project(ACME, id(n), { members }));
    const { accepted, refused } = await load(...lines);
    const reason = 'members[0].email: must be the e-mail of a user of this organization';
    expect([accepted, refused.length, refused[0]]).toEqual([0, 1_000, `1: ${reason}`]);
  });

  it('is unchanged by a second line with the same meaning', async () => {
    await load(FULL);
    const again = {
      ...FULL,
      id: ALPHA.toUpperCase(),
      created_at: '2025-01-01t09:00:00.123z',
      created_by: ANN.toUpperCase(),
      members: FULL_MEMBERS_REVERSED,
    };
    expect(await load(FULL, again)).toEqual(counts(0, 2));
  });

  it('is replaced as a whole: absent fields become null, absent people lose their roles', async () => {
    await load(FULL);
    expect(await load(project(ACME, ALPHA))).toEqual(counts(1, 0));
    expect(await projectsOf(world, ACME)).toEqual([{ id: ALPHA, ...EMPTY, created_at: STORED.created_at }]);
    expect(await grantOf(world, ACME, ALPHA)).toEqual({ createdBy: null, roles: [] });
  });

  it('reads null as absent', async () => {
    const nulls = {
      name: null,
      summary: null,
      status: null,
      is_archived: null,
      created_at: null,
      created_by: null,
      billing_office_name: null,
      members: null,
      deleted: null,
    };
    expect(await load(project(ACME, ALPHA), project(ACME, ALPHA, nulls))).toEqual(counts(1, 1));
    expect(await projectsOf(world, ACME)).toEqual([{ id: ALPHA, ...EMPTY, created_at: expect.any(Date) }]);
  });

  it('without created_at keeps the time of its first import, until a line sets another', async () => {
    const before = Date.now();
    await load(project(ACME, ALPHA, { name: 'first' }));
    const [first] = await projectsOf(world, ACME);
    expect(+(first!['created_at'] as Date)).toBeGreaterThanOrEqual(before - 1_000);
    await load(project(ACME, ALPHA, { name: 'second' }));
    expect(await projectsOf(world, ACME)).toEqual([{ ...first, name: 'second' }]);
    await load(project(ACME, ALPHA, { name: 'second', created_at: '2020-01-01T00:00:00Z' }));
    await load(project(ACME, ALPHA, { name: 'third' }));
    expect(await projectsOf(world, ACME)).toEqual([{ ...first, name: 'third', created_at: new Date('2020-01-01T00:00:00Z') }]);
  });

  it('replaces its members; a user may be lead and member, and the default role is member', async () => {
    await load(project(ACME, ALPHA, { members: [lead(ANN), { email: ANN }, { email: BOB, role: null }] }));
    expect(await grantOf(world, ACME, ALPHA)).toEqual({
      createdBy: null,
      roles: [`${ANN} lead`, `${ANN} member`, `${BOB} member`],
    });
    expect(await load(project(ACME, ALPHA, { members: [lead(BOB)] }))).toEqual(counts(1, 0));
    expect(await grantOf(world, ACME, ALPHA)).toEqual({ createdBy: null, roles: [`${BOB} lead`] });
  });

  it('may name disabled users', async () => {
    expect(await load(project(ACME, ALPHA, { created_by: CID, members: [lead(CID)] }))).toEqual(counts(1, 0));
  });

  it('that comes twice in a file ends up as its later line', async () => {
    expect(await load(FULL, project(ACME, ALPHA, { name: 'later', members: [member(BOB)] }))).toEqual(counts(2, 0));
    expect(await projectsOf(world, ACME)).toEqual([{ id: ALPHA, ...EMPTY, name: 'later', created_at: STORED.created_at }]);
    expect(await grantOf(world, ACME, ALPHA)).toEqual({ createdBy: null, roles: [`${BOB} member`] });
  });

  it('may have the same id in two organizations', async () => {
    await load(FULL, { ...FULL, organization: GLOBEX, name: 'Theirs', created_by: BOB, members: [] });
    expect(await projectsOf(world, ACME)).toEqual([STORED]);
    expect(await projectsOf(world, GLOBEX)).toEqual([{ ...STORED, name: 'Theirs' }]);
    await load(project(GLOBEX, ALPHA));
    expect(await projectsOf(world, ACME)).toEqual([STORED]);
    expect(await grantOf(world, ACME, ALPHA)).toEqual({ createdBy: ANN, roles: [`${ANN} lead`, `${BOB} member`] });
  });

  it('that several imports write at once ends up exactly as in one of their lines, at projects and at auth', async () => {
    const variants = Array.from({ length: 6 }, (_, i) => ({
      name: `variant ${i}`,
      created_by: i % 2 ? ANN : BOB,
      members: [lead(i % 2 ? BOB : ANN)],
    }));
    await Promise.all(variants.map((each) => load(project(ACME, ALPHA, each), project(ACME, BETA, each))));
    const [alpha, beta] = await projectsOf(world, ACME);
    expect(alpha!['name']).toBe(beta!['name']);
    const odd = Number(String(alpha!['name']).at(-1)) % 2 === 1;
    expect(await grantOf(world, ACME, ALPHA)).toEqual({ createdBy: odd ? ANN : BOB, roles: [`${odd ? BOB : ANN} lead`] });
  });
});

const FULL_MEMBERS_REVERSED = [member(BOB.toUpperCase()), lead(ANN)];

describe('the references of a project', () => {
  it('may be defined in an earlier line, but not in a later one', async () => {
    const lines = [
      project(ACME, ALPHA, { billing_office_name: 'Rome', created_by: 'new@crs.example' }),
      office(ACME, 'Rome'),
      project(ACME, BETA, { billing_office_name: 'Rome', created_by: 'new@crs.example' }),
      user(ACME, 'new@crs.example'),
      project(ACME, ALPHA, { billing_office_name: 'Rome', created_by: 'new@crs.example' }),
    ];
    expect(await load(...lines)).toEqual({
      accepted: 3,
      unchanged: 0,
      refused: [
        '1: billing_office_name: must be a billing office of this organization',
        '3: created_by: must be the e-mail of a user of this organization',
      ],
    });
    expect((await projectsOf(world, ACME)).map(({ id }) => id)).toEqual([ALPHA]);
    expect(await grantOf(world, ACME, BETA)).toBeUndefined();
  });

  it('must belong to the same organization', async () => {
    await world.load([office(GLOBEX, 'Oslo'), user(GLOBEX, 'only@globex.example')]);
    const { refused } = await load(
      project(ACME, ALPHA, { billing_office_name: 'Oslo' }),
      project(ACME, ALPHA, { members: [{ email: 'only@globex.example' }] }),
    );
    expect(refused).toEqual([
      '1: billing_office_name: must be a billing office of this organization',
      '2: members[0].email: must be the e-mail of a user of this organization',
    ]);
  });
});

describe('a bad line is refused with the field at fault and changes nothing', () => {
  const NOBODY = 'must be the e-mail of a user of this organization';
  const own = (more: object) => ({ ...FULL, name: 'Changed', members: [lead(BOB)], ...more });
  it.each([
    ['id: is required', own({ id: undefined })],
    ['id: must be a UUID', own({ id: 'alpha' })],
    ['id: must be a UUID', own({ id: ALPHA.replaceAll('-', '') })],
    ['name: must be text', own({ name: 7 })],
    ['name: must not contain the NUL character', own({ name: 'a\0b' })],
    ['summary: must not contain a lone surrogate', own({ summary: '\udc00' })],
    ['status: must be text', own({ status: [] })],
    ['is_archived: must be true or false', own({ is_archived: 'no' })],
    ['created_at: must be an RFC 3339 date-time with Z or an offset', own({ created_at: '2025-02-30T00:00:00Z' })],
    ['created_by: must be an e-mail address of 3 to 254 characters', own({ created_by: 'ann' })],
    [`created_by: ${NOBODY}`, own({ created_by: 'nobody@crs.example' })],
    ['billing_office_name: must be a billing office of this organization', own({ billing_office_name: 'paris' })],
    ['members: must be a list', own({ members: ANN })],
    ['members[1].email: is required', own({ members: [lead(ANN), { role: 'lead' }] })],
    ['members[0].role: must be one of lead, member', own({ members: [{ email: ANN, role: 'boss' }] })],
    ['members[0].name: is not a known property', own({ members: [{ email: ANN, name: 'Ann' }] })],
    [`members[1].email: ${NOBODY}`, own({ members: [lead(ANN), member('nobody@crs.example')] })],
    ['members[2].email: must not repeat with the same role', own({ members: [lead(ANN), member(ANN), lead(ANN.toUpperCase())] })],
    ['deleted: must be true or false', own({ deleted: 'yes' })],
    ['owner: is not a known property', own({ owner: ANN })],
    ['organization: must be an organization that exists', own({ organization: tenant('nobody') })],
  ])('%s', async (problem, line) => {
    await load(FULL);
    const grant = await grantOf(world, ACME, ALPHA);
    const after = project(ACME, BETA, { name: 'After' });
    expect(await load(line, after)).toEqual({ accepted: 1, unchanged: 0, refused: [`1: ${problem}`] });
    expect(await projectsOf(world, ACME)).toEqual([STORED, expect.objectContaining({ id: BETA, name: 'After' })]);
    expect(await grantOf(world, ACME, ALPHA)).toEqual(grant);
  });
});

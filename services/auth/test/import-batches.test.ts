import { beforeAll, describe, expect, it } from 'vitest';
import { tenant } from '@crs/testing/world';
import {
  ALPHA,
  ANN,
  BETA,
  BOB,
  failureOf,
  organization,
  peopleAndProjects,
  project,
  sharedAuthWorld,
  user,
  type SharedAuthWorld,
} from './_fixtures.ts';

const TENANTS = [tenant('acme'), tenant('globex')] as const;
const [ACME, GLOBEX] = TENANTS;

let world: SharedAuthWorld;
beforeAll(async () => {
  world = await sharedAuthWorld(peopleAndProjects(TENANTS));
});

/** Sends a batch as `crs` does, but without the checks of `crs`. */
const send = async (lines: (object | string | Buffer)[], tenant = ACME) =>
  world.operator.importers.auth.importRecords(
    {
      lines: lines.map((line, i) => ({
        number: 10 * (i + 1),
        json: Buffer.isBuffer(line) ? line : Buffer.from(typeof line === 'string' ? line : JSON.stringify(line)),
        id: '',
      })),
    },
    await world.operate(tenant),
  );
const emails = async (tenant: string) =>
  (await world.rows<{ email: string }>('select email from auth.users where organization = $1 order by email', [tenant])).map(
    ({ email }) => email,
  );

describe('a batch of records', () => {
  it('is stored record by record: invalid ones are reported by line number, valid ones stored', async () => {
    const lines = [
      user(ACME, 'one@example.com'),
      'no JSON',
      user(ACME, 'no e-mail'),
      user(ACME, ANN),
      '[]',
      user(ACME, 'two@example.com', { age: 7 }),
      user(ACME, 'three@example.com'),
      Buffer.from([0x22, 0xff, 0x22]),
      '{"type": "user"',
      { type: 'call', organization: ACME, id: 'x' },
    ];
    const answer = await send(lines);
    expect({ ...answer, errors: answer.errors.map(({ line, field, reason }) => `${line}: ${field}: ${reason}`) }).toEqual({
      accepted: 2,
      unchanged: 1,
      errors: [
        '20: : must be valid JSON',
        '30: email: must be an e-mail address of 3 to 254 characters',
        '50: : must be a JSON object',
        '60: age: is not a known property',
        '80: : must be valid UTF-8',
        '90: : must be valid JSON',
        expect.stringMatching(/^100: type: must be one of organization, user/),
      ],
    });
    expect(await emails(ACME)).toEqual([ANN, BOB, 'one@example.com', 'three@example.com']);
  });

  it("stores nothing outside the token's organization, even if a record names another", async () => {
    const { errors, accepted } = await send([user(GLOBEX, 'stranger@example.com'), organization(GLOBEX, { name: 'Taken over' })]);
    expect(accepted).toBe(0);
    expect(errors.map(({ line, field, reason }) => [line, field, reason])).toEqual([
      [10, 'organization', 'must be the organization that the batch is sent for'],
      [20, 'organization', 'must be the organization that the batch is sent for'],
    ]);
    expect(await emails(GLOBEX)).toEqual([ANN, BOB]);
  });

  it('gets errors that repeat no value of a record, and an unknown property only if it looks like a name', async () => {
    const secret = 'a value that stays where it is';
    // A JSON parser's message quotes only some characters.
    const excerpt = secret.slice(0, 7);
    const bad = [
      user(ACME, secret),
      user(ACME, ANN, { password: excerpt, name: secret }),
      { ...user(ACME, ANN), [secret]: secret },
      `{"type": "user", "organization": "${ACME}", ${secret}`,
      organization(ACME, { allowed_fields: [secret] }),
    ];
    const { errors } = await send(bad);
    expect(errors).toHaveLength(bad.length);
    expect(JSON.stringify(errors)).not.toContain(excerpt);
  });

  it('may be empty', async () => {
    expect(await send([])).toEqual({ accepted: 0, unchanged: 0, errors: [] });
  });

  it('has at most 1,000 records', async () => {
    const many = [user(ACME, 'last@example.com'), ...Array.from({ length: 999 }, () => 'no JSON')].toReversed();
    const answer = await send(many);
    expect([answer.accepted, answer.errors.length, answer.errors.at(-1)!.line]).toEqual([1, 999, 9_990]);
    expect(await failureOf(send([...many, user(ACME, 'over@example.com')]))).toMatchObject({
      kind: 'invalid_argument',
      field: 'lines',
    });
    expect(await emails(ACME)).not.toContain('over@example.com');
  });

  it('has at most 16 MiB', async () => {
    const half = JSON.stringify(user(ACME, 'big@example.com')).padEnd(8 * 1024 * 1024, ' ');
    expect(await send([half, half])).toMatchObject({ accepted: 1, unchanged: 1 });
    expect(await failureOf(send([half, half, ' ']))).toMatchObject({ kind: 'invalid_argument', field: 'lines' });
  });

  it('gets a retryable error if another import stores the same user at that moment', async () => {
    const record = user(ACME, 'race@example.com', { name: 'Ours' });
    const other = `insert into auth.users (organization, user_id, email, email_folded, name)
      values ('${ACME}', gen_random_uuid(), 'race@example.com', 'race@example.com', 'Theirs')`;
    expect((await world.meanwhile(other, () => failureOf(send([user(ACME, 'before@example.com'), record]))))?.kind).toBe(
      'aborted',
    );
    expect(await emails(ACME)).not.toContain('before@example.com');
    expect(await send([record])).toEqual({ accepted: 1, unchanged: 0, errors: [] });
    expect(
      await world.rows(`select name from auth.users where organization = $1 and email = 'race@example.com'`, [ACME]),
    ).toEqual([{ name: 'Ours' }]);
  });
});

describe('the people of an imported project', () => {
  const roles = async (tenant: string, id: string) =>
    (
      await world.rows<{ role: string }>(
        `select email || ' ' || role as role from auth.project_roles join auth.users using (organization, user_id)
          where organization = $1 and project_id = $2
        union all select email || ' creator' from auth.projects p join auth.users u on (u.organization, u.user_id) = (p.organization, p.created_by)
          where p.organization = $1 and project_id = $2 order by 1`,
        [tenant, id],
      )
    ).map(({ role }) => role);
  const lead = { email: ANN, role: 'lead' };

  it('are those in the record, in that organization only', async () => {
    await world.load([
      project(ACME, ALPHA, { created_by: BOB, members: [lead, { email: BOB }, { email: ANN.toUpperCase(), role: 'member' }] }),
    ]);
    expect(await roles(ACME, ALPHA)).toEqual([`${ANN} lead`, `${ANN} member`, `${BOB} creator`, `${BOB} member`]);
    expect(await roles(GLOBEX, ALPHA)).toEqual([]);
  });

  it('are unchanged by the same people in another order', async () => {
    const record = project(ACME, ALPHA, { created_by: ANN, members: [lead, { email: BOB, role: 'member' }] });
    await world.load([record]);
    const again = { ...record, members: [{ email: BOB.toUpperCase() }, lead] };
    expect(await world.tryLoad([record, again])).toEqual({ accepted: 0, unchanged: 2, refused: [] });
  });

  it('are replaced as a whole: omitted people lose their roles, and an absent or null list means nobody', async () => {
    const record = project(ACME, ALPHA, { created_by: ANN, members: [lead] });
    for (const change of [{ created_by: null, members: null }, {}]) {
      await world.load([record]);
      expect(await roles(ACME, ALPHA)).toEqual([`${ANN} creator`, `${ANN} lead`]);
      await world.load([project(ACME, ALPHA, change)]);
      expect(await roles(ACME, ALPHA)).toEqual([]);
    }
  });

  it('are those of the later record in a file', async () => {
    await world.load([
      project(ACME, BETA, { members: [lead] }),
      project(ACME, BETA.toUpperCase(), { members: [{ email: BOB }] }),
    ]);
    expect(await roles(ACME, BETA)).toEqual([`${BOB} member`]);
  });

  it('replace those of another import that stores the same new project at that moment', async () => {
    const id = '00000000-0000-4000-8000-0000000000cc';
    const other = `insert into auth.projects select organization, '${id}', user_id from auth.users where organization = '${ACME}' and email = '${ANN}';
      insert into auth.project_roles select organization, '${id}', user_id, 'lead' from auth.users where organization = '${ACME}' and email = '${ANN}'`;
    const before = (await world.auth.getVisibilityVersion({}, await world.asUser(ACME, ANN))).version;
    await world.meanwhile(other, () => world.load([project(ACME, id, { created_by: BOB })]));
    expect(await roles(ACME, id)).toEqual([`${BOB} creator`]);
    // Ann has lost the project, so what services have cached about her is out of date.
    expect((await world.auth.getVisibilityVersion({}, await world.asUser(ACME, ANN))).version).toBeGreaterThan(before);
  });

  it('may be disabled', async () => {
    const setDisabled = async (disabled: boolean) =>
      world.operator.auth.setUserDisabled({ email: BOB, disabled }, await world.operate(ACME));
    await setDisabled(true);
    await world.load([project(ACME, BETA, { created_by: BOB, members: [{ email: BOB, role: 'lead' }] })]);
    expect(await roles(ACME, BETA)).toEqual([`${BOB} creator`, `${BOB} lead`]);
    await setDisabled(false);
  });

  const NOBODY = 'must be the e-mail of a user of this organization';
  it.each<[string, string, object]>([
    ['created_by', NOBODY, { created_by: 'nobody@example.com' }],
    ['created_by', NOBODY, { created_by: 'globex@example.com' }],
    ['members[1].email', NOBODY, { members: [lead, { email: 'globex@example.com' }] }],
    ['members[1].email', 'must not repeat with the same role', { members: [lead, { email: ANN.toUpperCase(), role: 'lead' }] }],
    ['members[1].email', 'must be an e-mail address of 3 to 254 characters', { members: [lead, { email: 'x' }] }],
    ['members[0].role', 'must be one of lead, member', { members: [{ email: ANN, role: 'owner' }] }],
    ['members[0].since', 'is not a known property', { members: [{ email: ANN, since: '2025' }] }],
    ['id', 'must be a UUID', { id: 'alpha' }],
    ['organization', 'must be an organization that exists', { organization: tenant('nowhere') }],
  ])('are refused with a bad %s: %s', async (field, reason, change) => {
    await world.load([user(GLOBEX, 'globex@example.com'), project(ACME, BETA, { created_by: ANN })]);
    const tables = () =>
      Promise.all(
        ['projects', 'project_roles'].map((table) =>
          world.rows(`select * from auth.${table} where organization = any($1) order by 1, 2, 3`, [TENANTS]),
        ),
      );
    const before = await tables();
    expect((await world.tryLoad([{ ...project(ACME, BETA), ...change }])).refused).toEqual([`1: ${field}: ${reason}`]);
    expect(await tables()).toEqual(before);
  });
});

it('an import of one file counts the records of two organizations', async () => {
  const records = TENANTS.flatMap((tenant) => [
    user(tenant, 'mixed@example.com'),
    project(tenant, ALPHA, { created_by: 'mixed@example.com' }),
  ]);
  expect(await world.tryLoad(records)).toEqual({ accepted: 4, unchanged: 0, refused: [] });
  expect(await world.tryLoad(records)).toEqual({ accepted: 0, unchanged: 4, refused: [] });
});

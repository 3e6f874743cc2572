import { beforeAll, expect, it } from 'vitest';
import { runCrs } from '@crs/testing/run-crs';
import { tenant } from '@crs/testing/world';
import { ALPHA, ANN, BETA, BOB, organization, project, sharedAuthWorld, user, type SharedAuthWorld } from './_fixtures.ts';

const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];
const CY = '=cmd|x@example.com';

let world: SharedAuthWorld;
beforeAll(async () => {
  world = await sharedAuthWorld(
    [ACME, GLOBEX].flatMap((id) => [
      organization(id),
      ...[ANN, BOB, CY].map((email) => user(id, email)),
      user(id, 'off@example.com', { disabled: true }),
      project(id, ALPHA, { created_by: ANN, members: [{ email: BOB, role: 'lead' }] }),
      project(id, BETA, { members: [{ email: 'off@example.com', role: 'lead' }] }),
    ]),
  );
});

const crs = (...args: string[]) => runCrs(world, args);
const review = async (id: string) =>
  (JSON.parse((await crs('access-review', '--org', id, '--json')).stdout) as { data: Record<string, string | null>[] }).data;

it('lists who may see what, by whom it was given and its last use, in one organization', async () => {
  await crs('member', 'add', '--org', ACME, '--project', BETA, '--user', ANN, '--role', 'member');
  await world.query(`insert into auth.groups (organization, group_id, name, name_folded) values ($1, $2, 'Boxes', 'boxes')`, [
    ACME,
    ALPHA,
  ]);
  await world.query(
    'insert into auth.group_members (organization, group_id, user_id) select organization, $2, user_id from auth.users where organization = $1 and email = $3',
    [ACME, ALPHA, BOB],
  );
  await crs('scim', 'map', '--org', ACME, '--group', 'boxes', '--project', BETA, '--role', 'lead');
  const created = await crs('key', 'create', '--org', ACME, '--label', 'erp', '--rights', 'read,ingest', '--json');
  const { key, key_id: keyId } = JSON.parse(created.stdout) as { key: string; key_id: string };
  const revoked = JSON.parse((await crs('key', 'create', '--org', ACME, '--json')).stdout) as { key_id: string };
  await crs('key', 'revoke', revoked.key_id, '--org', ACME);
  await world.auth.authenticateKey({ apiKey: key, audiences: ['calls'] });
  await crs('token', 'create', '--org', ACME, '--user', BOB);
  await world.query(`update auth.grants set last_used_at = '2026-01-02T03:04:05Z' where organization = $1`, [ACME]);

  const time = expect.stringMatching(/^20\d\d-.*Z$/) as unknown;
  const row = (fields: object) => ({
    project: null,
    role: null,
    source: null,
    given_by: null,
    since: null,
    last_use: null,
    ...fields,
  });
  const bob = { kind: 'user', who: BOB, last_use: '2026-01-02T03:04:05.000Z' };
  await expect.poll(async () => (await review(ACME)).at(-1)!['last_use']).not.toBeNull();
  expect(await review(ACME)).toEqual([
    row({ kind: 'user', who: CY }),
    row({ kind: 'user', who: ANN, project: ALPHA, role: 'creator', source: 'records' }),
    row({ kind: 'user', who: ANN, project: BETA, role: 'member', source: 'records', given_by: 'local', since: time }),
    row({ ...bob, project: ALPHA, role: 'lead', source: 'records', since: time }),
    row({ ...bob, project: BETA, role: 'lead', source: 'directory', given_by: 'Boxes', since: time }),
    row({
      kind: 'key',
      who: `${keyId} erp`,
      role: 'read ingest',
      source: 'operator',
      given_by: 'local',
      since: time,
      last_use: time,
    }),
  ]);
  expect((await review(GLOBEX)).map(({ who, project: id, role }) => [who, id, role])).toEqual([
    [CY, null, null],
    [ANN, ALPHA, 'creator'],
    [BOB, ALPHA, 'lead'],
  ]);
});

it('prints CSV, in which no text passes for a formula', async () => {
  const { status, stdout } = await crs('access-review', '--org', GLOBEX);
  const [head, first, ...rest] = stdout.trimEnd().split('\r\n');
  expect({ status, head, first }).toEqual({
    status: 0,
    head: 'kind,who,project,role,source,given_by,since,last_use',
    first: `user,'${CY},,,,,,`,
  });
  expect(rest).toHaveLength(2);
});

it('reads all users, page by page, and leaves one entry in the audit trail', async () => {
  const id = tenant('many');
  const emails = Array.from({ length: 120 }, (_, i) => `u${String(i).padStart(3, '0')}@example.com`);
  await world.load([organization(id), ...emails.map((email) => user(id, email))]);
  expect((await review(id)).map(({ who }) => who)).toEqual(emails);
  expect(await world.rows(`select 1 from auth.audit where organization = $1 and action = 'access.review'`, [id])).toHaveLength(1);
});

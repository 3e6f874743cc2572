import { afterAll, beforeAll, expect, it } from 'vitest';
import { runCrs } from '@crs/testing/run-crs';
import { randomTenants } from './_random-tenants.ts';
import { project, startAuthWorld, type AuthWorld } from './_fixtures.ts';

const SEED = 20261125;
const { states, projectIds } = randomTenants(SEED, 200);
const projects = states.flatMap(({ id }) => projectIds.map((projectId) => project(id, projectId)));

let original: AuthWorld;
let copy: AuthWorld;
beforeAll(async () => {
  [original, copy] = await Promise.all([startAuthWorld(), startAuthWorld()]);
});
afterAll(() => Promise.all([original?.close(), copy?.close()]));

const apply = (world: AuthWorld, file: string, option: string) => runCrs(world, ['apply', '-f', '-', option, '--json'], file);
const exported = async (world: AuthWorld, ...options: string[]) =>
  (await runCrs(world, ['tenants', 'export', ...options])).stdout;
const DONE = { status: 0, stderr: '' };

it('200 random tenants, applied, exported and applied to an empty installation, are equal there, and applied again nothing changes', async () => {
  const file = JSON.stringify({ organizations: states });
  expect(await apply(original, file, '--yes')).toMatchObject(DONE);
  await original.load(projects);
  // Group maps wait for their projects.
  expect(await apply(original, file, '--yes')).toMatchObject(DONE);
  expect(await apply(original, file, '--plan')).toMatchObject(DONE);
  const yaml = await exported(original);

  expect(await apply(copy, yaml, '--yes')).toMatchObject(DONE);
  await copy.load(projects);
  expect(await apply(copy, yaml, '--yes')).toMatchObject(DONE);
  expect(await exported(copy)).toBe(yaml);

  const json = await exported(original, '--json');
  expect(
    (JSON.parse(json) as { organizations: { group_maps: object[] }[] }).organizations.flatMap(({ group_maps: maps }) => maps)
      .length,
  ).toBeGreaterThan(50);
  for (const world of [original, copy])
    for (const again of [file, yaml, json]) expect(await apply(world, again, '--plan')).toMatchObject(DONE);
  const changes = `select count(*)::integer as count from auth.audit where action not in ('tenant.plan', 'tenant.export', 'organization.list')`;
  const before = await copy.rows(changes);
  await apply(copy, json, '--yes');
  expect(await copy.rows(changes)).toEqual(before);
}, 300_000);

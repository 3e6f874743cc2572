import pLimit from 'p-limit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runCrs } from '@crs/testing/run-crs';
import { applier, shortened, type State } from './_apply.ts';
import { project, startAuthWorld, type AuthWorld } from './_fixtures.ts';
import { randomTenants } from './_random-tenants.ts';

const SEED = 20261125;
const { states, projectIds } = randomTenants(SEED, 200);
const projects = states.flatMap(({ id }) => projectIds.map((projectId) => project(id, projectId)));

let original: AuthWorld;
let copy: AuthWorld;
beforeAll(async () => {
  [original, copy] = await Promise.all([startAuthWorld(), startAuthWorld()]);
}, 300_000);
afterAll(() => Promise.all([original?.close(), copy?.close()]));

const atOnce = pLimit(8);
const each = <T>(items: State[], work: (state: State) => Promise<T>) =>
  Promise.all(items.map((state) => atOnce(() => work(state))));
const applyAll = (world: AuthWorld, items: State[]) => each(items, applier(() => world).apply);
const exportAll = (world: AuthWorld) => each(states, ({ id }) => applier(() => world).exported(id));
/** Group maps wait for their projects. */
const withMaps = (items: State[]) => items.filter(({ group_maps: maps }) => Array.isArray(maps) && maps.length > 0);
/** What the states would still change. */
const changesLeft = async (world: AuthWorld, items: State[]) =>
  (await each(items, (state) => applier(() => world).apply(state, { plan: true }))).flatMap((response) => shortened(response));

it('200 random tenants, exported and applied to an empty installation, are equal there, and applied again change nothing', async () => {
  await applyAll(original, states);
  await original.load(projects);
  await applyAll(original, withMaps(states));
  const exported = await exportAll(original);
  expect(exported.flatMap(({ group_maps: maps }) => maps).length).toBeGreaterThan(100);

  await applyAll(copy, exported);
  await copy.load(projects);
  await applyAll(copy, withMaps(exported));
  expect(await exportAll(copy)).toEqual(exported);
  expect(await changesLeft(copy, states)).toEqual([]);
  expect(await changesLeft(original, exported)).toEqual([]);
}, 300_000);

it('the output of crs tenants export is a file that crs apply finds nothing to do for', async () => {
  const yaml = (await runCrs(original, ['tenants', 'export'])).stdout;
  const summary = '0 to add, 0 to change, 0 to remove.\n';
  expect(await runCrs(copy, ['apply', '-f', '-', '--plan'], yaml)).toEqual({ status: 0, stderr: '', stdout: summary });
  expect((await runCrs(copy, ['tenants', 'export'])).stdout).toBe(yaml);
}, 300_000);

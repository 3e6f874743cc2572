import { exportLines } from '@crs/testing/export';
import { recordSender } from '@crs/testing/put-records';
import { sharedWorld, tenant, type World } from '@crs/testing/world';
import { afterAll, beforeAll, expect, it } from 'vitest';

const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];
const PROJECT = '11111111-2222-4333-8444-555555555555';
const MISSING = 'project_id: must be a project of this organization';

type Sender = Awaited<ReturnType<typeof recordSender>>;
let world: World;
let acme: Sender;

const idOf = (n: number) => `00000000-0000-4000-8000-00000000000${n}`;
const entity = (n: number, fields: object = {}, organization = ACME) => ({
  type: 'entity',
  organization,
  project_id: PROJECT,
  id: idOf(n),
  created_at: '2025-03-01T10:00:00.000Z',
  ...fields,
});
const deletion = (n: number) => ({ type: 'entity', organization: ACME, id: idOf(n), deleted: true });
const everything = (organization: string) => exportLines(world.operator, organization);

beforeAll(async () => {
  world = await sharedWorld();
  await world.load(
    [ACME, GLOBEX].flatMap((organization) => [
      { type: 'organization', id: organization, name: organization },
      { type: 'project', organization, id: PROJECT },
      entity(1, { name: 'Theirs' }, organization),
    ]),
  );
  acme = await recordSender(world, 'entities', ACME);
});
afterAll(() => acme?.close());

it('a key stores and deletes entities of its own organization only', async () => {
  const theirs = await everything(GLOBEX);
  const lines = [entity(1, { name: 'Ours' }), entity(2), deletion(2), entity(2), deletion(3), entity(1, {}, GLOBEX)];
  expect(await acme.put(lines)).toEqual({
    accepted: 4,
    unchanged: 1,
    created: 2,
    refused: ['6: organization: must be the organization that the batch is sent for'],
  });
  expect(await everything(GLOBEX)).toEqual(theirs);
});

it.each([
  ['ingest', [entity(4), deletion(4)], '2: deleted: needs a key with the right delete'],
  ['delete', [deletion(4), entity(4)], '2: : needs a key with the right ingest'],
])('a key with the right %s only is refused the other kind of line', async (right, lines, reason) => {
  const sender = await recordSender(world, 'entities', ACME, [right]);
  expect(await sender.put(lines)).toMatchObject({ accepted: 1, refused: [reason] });
  sender.close();
});

it('abort and check store nothing', async () => {
  await acme.put([entity(5)]);
  const before = await everything(ACME);
  const lines = [entity(5, { name: 'x' }), entity(6), entity(7, { project_id: idOf(9) })];
  const refused = [`3: ${MISSING}`];
  expect(await acme.put(lines, { abort: true })).toEqual({ accepted: 0, unchanged: 0, created: 0, refused });
  expect(await acme.put(lines, { check: true })).toEqual({ accepted: 2, unchanged: 0, created: 1, refused });
  const supposed = { emails: [], projectIds: [idOf(9)], billingOffices: [] };
  expect(await acme.put(lines, { check: true, supposed })).toEqual({ accepted: 3, unchanged: 0, created: 2, refused: [] });
  expect(await acme.put(lines.slice(2), { supposed })).toMatchObject({ refused: [`1: ${MISSING}`] });
  expect(await everything(ACME)).toEqual(before);
  expect(await acme.put(lines.slice(0, 2), { abort: true })).toEqual({ accepted: 2, unchanged: 0, created: 1, refused: [] });
});

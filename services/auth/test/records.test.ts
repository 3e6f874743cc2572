import { recordSender } from '@crs/testing/put-records';
import { tenant } from '@crs/testing/world';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ANN, BOB, peopleAndProjects, sharedAuthWorld, user, type SharedAuthWorld } from './_fixtures.ts';

const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];
const NEW = 'new@example.com';

type Sender = Awaited<ReturnType<typeof recordSender>>;
let world: SharedAuthWorld;
let acme: Sender;

const everything = (organization: string) =>
  world.rows('select * from auth.users where organization = $1 order by email_folded', [organization]);
const nameOf = async (organization: string, email: string) =>
  (await everything(organization)).find((row) => row['email'] === email)?.['name'];

beforeAll(async () => {
  world = await sharedAuthWorld(peopleAndProjects([ACME, GLOBEX]));
  acme = await recordSender(world, 'auth', ACME);
});
afterAll(() => acme?.close());

it('a key stores users of its own organization by e-mail and name', async () => {
  const theirs = await everything(GLOBEX);
  const lines = [user(ACME, ANN, { name: 'Ann' }), user(ACME, NEW), user(ACME, NEW), user(GLOBEX, BOB, { name: 'Mine' })];
  expect(await acme.put(lines)).toEqual({
    accepted: 2,
    unchanged: 1,
    created: 1,
    refused: ['4: organization: must be the organization that the batch is sent for'],
  });
  expect(await nameOf(ACME, ANN)).toBe('Ann');
  expect(await everything(GLOBEX)).toEqual(theirs);
});

it.each<[string, object, string]>([
  ['a password', user(ACME, BOB, { password: 'correct horse battery staple' }), 'password: is not a known property'],
  ['no password', user(ACME, BOB, { password: null }), 'password: is not a known property'],
  ['a disabled user', user(ACME, BOB, { disabled: true }), 'disabled: is not a known property'],
  ['a deletion', user(ACME, BOB, { deleted: true }), 'deleted: is not a known property'],
  ['a merge', user(ACME, BOB, { merge: true }), 'merge: is not a known property'],
  ['an organization', { type: 'organization', id: ACME, name: 'Mine', write_surface: true }, 'type: must be user'],
])('a key may not send %s', async (_, line, reason) => {
  const before = await everything(ACME);
  expect(await acme.put([line])).toEqual({ accepted: 0, unchanged: 0, created: 0, refused: [`1: ${reason}`] });
  expect(await everything(ACME)).toEqual(before);
});

it('a key without the right ingest stores no users', async () => {
  const sender = await recordSender(world, 'auth', ACME, ['delete']);
  expect(await sender.put([user(ACME, ANN)])).toMatchObject({ refused: ['1: : needs a key with the right ingest'] });
  sender.close();
});

it('abort and check store nothing, and only what is stored is audited', async () => {
  const before = await everything(ACME);
  const sender = await recordSender(world, 'auth', ACME);
  const lines = [user(ACME, BOB, { name: 'Bob' }), user(ACME, 'newer@example.com'), user(ACME, 'bad')];
  expect(await sender.put(lines, { abort: true })).toMatchObject({ accepted: 0, created: 0, refused: [expect.any(String)] });
  expect(await sender.put(lines, { check: true })).toMatchObject({ accepted: 2, created: 1, refused: [expect.any(String)] });
  expect(await everything(ACME)).toEqual(before);
  const audit = async () =>
    world.rows('select organization, action, count from auth.audit where actor = $1', [await sender.keyId()]);
  expect(await audit()).toEqual([]);
  expect(await sender.put(lines.slice(0, 2), { abort: true })).toEqual({ accepted: 2, unchanged: 0, created: 1, refused: [] });
  expect(await audit()).toEqual([{ organization: ACME, action: 'records.write', count: 2 }]);
  sender.close();
});

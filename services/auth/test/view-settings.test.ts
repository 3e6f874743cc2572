import { afterAll, beforeAll, expect, it } from 'vitest';
import type { OrganizationSettings } from '@crs/proto/crs/auth/v1/admin';
import { startAuthWorld, type AuthWorld } from './_fixtures.ts';

let world: AuthWorld;
beforeAll(async () => {
  world = await startAuthWorld([
    { type: 'organization', id: 'acme' },
    { type: 'organization', id: 'globex' },
  ]);
});
afterAll(() => world?.close());

const CHANGES: [string, string, () => Promise<unknown>][] = [
  [
    'an update of the fields',
    'acme',
    async () => {
      const settings = { allowedFields: { default: false, fields: ['cost'] } } as OrganizationSettings;
      await world.operator.auth.updateOrganization({ settings }, await world.operate('acme'));
    },
  ],
  [
    'an update of anonymizing',
    'acme',
    async () => {
      const settings = { anonymizeInterviewees: true } as OrganizationSettings;
      await world.operator.auth.updateOrganization({ settings }, await world.operate('acme'));
    },
  ],
  ['an import', 'acme', () => world.load([{ type: 'organization', id: 'acme', allowed_fields: ['summary'] }])],
  [
    'a deletion of the organization',
    'globex',
    async () => {
      const target = { target: { $case: 'organization' as const, value: true } };
      await world.operator.auth.beginErasure({ target }, await world.operate('globex'));
    },
  ],
];

it.each(CHANGES)('%s is done once no earlier answer about the settings is valid', async (_what, organization, change) => {
  const call = await world.asOrganization(organization);
  const ask = () => world.auth.getViewSettings({}, call);
  const before = (await ask()).version;
  let validUntil = 0;
  let doneAt: number | undefined;
  const changed = change().finally(() => (doneAt = performance.now()));
  while (doneAt === undefined) {
    const askedAt = performance.now();
    const answer = await ask().catch(() => undefined);
    if (answer?.version === before) validUntil = askedAt + answer.validMs;
  }
  await changed;
  expect(validUntil).toBeGreaterThan(0);
  expect(doneAt).toBeGreaterThanOrEqual(validUntil);
  expect((await ask().catch(() => undefined))?.version).not.toBe(before);
});

it('a change that repeats one under way waits as long', async () => {
  const [first, second] = [CHANGES[0]![2](), CHANGES[0]![2]()];
  const begun = performance.now();
  const call = await world.asOrganization('acme');
  await second;
  expect(performance.now() - begun).toBeGreaterThanOrEqual((await world.auth.getViewSettings({}, call)).validMs);
  await first;
});

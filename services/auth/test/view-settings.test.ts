import { beforeAll, expect, it } from 'vitest';
import type { OrganizationSettings } from '@crs/proto/crs/auth/v1/admin';
import { tenant } from '@crs/testing/world';
import { organization, sharedAuthWorld, type SharedAuthWorld } from './_fixtures.ts';

const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];

let world: SharedAuthWorld;
beforeAll(async () => {
  world = await sharedAuthWorld([organization(ACME), organization(GLOBEX)]);
});

const CHANGES: [string, string, () => Promise<unknown>][] = [
  [
    'an update of the fields',
    ACME,
    async () => {
      const settings = { allowedFields: { default: false, fields: ['cost'] } } as OrganizationSettings;
      await world.operator.auth.updateOrganization({ settings }, await world.operate(ACME));
    },
  ],
  [
    'an update of anonymization',
    ACME,
    async () => {
      const settings = { anonymizeInterviewees: true } as OrganizationSettings;
      await world.operator.auth.updateOrganization({ settings }, await world.operate(ACME));
    },
  ],
  ['an import', ACME, () => world.load([{ type: 'organization', id: ACME, allowed_fields: ['summary'] }])],
  [
    'a deletion of the organization',
    GLOBEX,
    async () => {
      const target = { target: { $case: 'organization' as const, value: true } };
      await world.auth.beginErasure({ target, check: false }, await world.operate(GLOBEX));
    },
  ],
];

it.each(CHANGES)('%s returns only after every earlier GetViewSettings response has expired', async (_what, id, change) => {
  const call = await world.asOrganization(id);
  const getSettings = async () => {
    const calledAt = performance.now();
    const { version, validMs } = await world.auth.getViewSettings({}, call);
    return { version, validUntil: calledAt + validMs };
  };
  const before = await getSettings();
  let { validUntil } = before;
  let doneAt: number | undefined;
  const changed = change().finally(() => (doneAt = performance.now()));
  while (doneAt === undefined) {
    const answer = await getSettings().catch(() => undefined);
    if (answer?.version === before.version) ({ validUntil } = answer);
  }
  await changed;
  expect(doneAt).toBeGreaterThanOrEqual(validUntil);
  expect((await getSettings().catch(() => undefined))?.version).not.toBe(before.version);
});

it('a change that repeats one in progress waits as long as that one', async () => {
  const [first, second] = [CHANGES[0]![2](), CHANGES[0]![2]()];
  const startedAt = performance.now();
  const call = await world.asOrganization(ACME);
  await second;
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual((await world.auth.getViewSettings({}, call)).validMs);
  await first;
});

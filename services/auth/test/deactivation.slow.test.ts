import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createKey, createToken } from '@crs/testing/credentials';
import { startLanes, type Lane } from '@crs/testing/lanes';
import { filtered, openDirectory, patch } from '@crs/testing/scim';
import { TOOLS_URL } from '@crs/testing/world';
import { gainAccess, MARK, restWith, toolsWith, underLoad, type Access } from './_accesses.ts';
import { ALPHA, ANN, organization, project, query, TENANTS, user } from './_fixtures.ts';
import { quickHash } from './_quick-hash.ts';

const PASSWORD = 'correct horse battery';
/** One user for each test. */
const LEAVERS = ['bob@example.com', 'cat@example.com'];
const ENOUGH = { requests: 1_000_000, period_seconds: 60 };
const WITHIN_MS = 1_000;
/** Uses of each access before the deactivation, and after the time limit. */
const TIMES = 3;
const PAUSE_MS = 50;

let lanes: Awaited<ReturnType<typeof startLanes>>['lanes'];
let close: (() => Promise<void>) | undefined;

beforeAll(async () => {
  const started = await startLanes({ CRS_TOOLS_URL: TOOLS_URL });
  ({ lanes, close } = started);
  const settings = { own_tokens: true, rate_limit: ENOUGH, tool_rate_limit: ENOUGH };
  const people = [ANN, ...LEAVERS];
  await load([
    ...TENANTS.map((tenant) => organization(tenant, settings)),
    ...TENANTS.flatMap((tenant) => people.map((email) => user(tenant, email))),
  ]);
  // Users with the same e-mail have the same id in both organizations, and passwords that are quick to check.
  const change = 'update auth.users set user_id = md5(email_folded)::uuid, password_hash = $1';
  await query(started.databaseUrl, change, [quickHash(PASSWORD)]);
  await load(
    TENANTS.flatMap((tenant) => {
      const call = { id: 'a-call', project_id: ALPHA, created_at: '2025-03-01T10:00:00Z', segment: MARK };
      return [
        project(tenant, ALPHA, { name: MARK, members: people.map((email) => ({ email })) }),
        { type: 'call', organization: tenant, ...call },
        { type: 'entity', organization: tenant, id: ALPHA, project_id: ALPHA, name: MARK },
      ];
    }),
  );
});
afterAll(() => close?.());

async function load(records: object[]): Promise<void> {
  const { refused } = await lanes[0].tryLoad(records);
  expect(refused).toEqual([]);
}

/** Gives a user every kind of access, in each lane through the other one. @returns the accesses by lane */
function everyAccess(tenant: string, email: string): Promise<Access[][]> {
  const person = { organization: tenant, email, password: PASSWORD };
  const inLane = (lane: Lane, index: number) => gainAccess(person, lanes[1 - index]!, lane);
  return Promise.all(lanes.map(inLane));
}

/** The requests of colleagues and of programs of both organizations, at each gateway. */
async function othersRequests(): Promise<Access[][]> {
  const clients = lanes.flatMap((lane) =>
    TENANTS.map(async (tenant) => [
      toolsWith(await createToken(lane.operator, tenant, ANN), lane, "a colleague's token"),
      [restWith(await createKey(lane.operator, tenant), lane)],
    ]),
  );
  return (await Promise.all(clients)).flat();
}

/** One use of an access, with times of `performance.now()`. */
interface Use {
  sentAt: number;
  doneAt: number;
  served: boolean;
}

/**
 * Uses an access until `TIMES` uses were sent after the time that `limit` resolves to.
 * @param warm called after the first `TIMES` uses
 */
async function useRepeatedly({ isServed }: Access, warm: () => void, limit: Promise<number>): Promise<Use[]> {
  const uses: Use[] = [];
  let limitAt = Infinity;
  void limit.then((time) => (limitAt = time));
  for (let late = 0; late < TIMES;) {
    const sentAt = performance.now();
    const served = await isServed();
    uses.push({ sentAt, doneAt: performance.now(), served });
    if (uses.length === TIMES) warm();
    if (sentAt > limitAt) late++;
    await sleep(PAUSE_MS);
  }
  return uses;
}

/** Uses all accesses at once, and makes the change after the first uses of each. */
async function changeWhileUsed(accesses: Access[], change: () => Promise<unknown>) {
  const limit = Promise.withResolvers<number>();
  const warm = accesses.map(() => Promise.withResolvers<void>());
  const used = Promise.all(accesses.map((access, index) => useRepeatedly(access, warm[index]!.resolve, limit.promise)));
  await Promise.race([used, Promise.all(warm.map(({ promise }) => promise))]);
  const beganAt = performance.now();
  await change();
  const acknowledgedAt = performance.now();
  limit.resolve(acknowledgedAt + WITHIN_MS);
  return { uses: await used, beganAt, acknowledgedAt };
}

it.each([0, 1])(
  'a user deactivated by the directory at replica %i loses every kind of access at both replicas within a second, under load',
  { timeout: 120_000 },
  async (replica) => {
    const [tenant, twin] = TENANTS;
    const email = LEAVERS[replica]!;
    const accesses = (await everyAccess(tenant, email)).flat();
    const others = [...(await othersRequests()), ...(await everyAccess(twin, email))];
    const { operator, tools } = lanes[replica]!;
    const directory = await openDirectory(operator, tools, tenant);
    const { Resources } = (await directory('GET', filtered('Users', `userName eq "${email}"`))).body;
    const deactivate = async () => {
      const change = patch({ op: 'replace', path: 'active', value: false });
      expect((await directory('PATCH', `/Users/${Resources[0].id}`, change)).status).toBeLessThan(300);
    };
    const { result, requests, failures } = await underLoad(others, () => changeWhileUsed(accesses, deactivate));
    const { uses, beganAt, acknowledgedAt } = result;

    const servedMs = uses.map((each) => each.filter(({ served }) => served).map(({ sentAt }) => sentAt - acknowledgedAt));
    const refusedMs = uses.map((each) => (each.find(({ served }) => !served)?.doneAt ?? Infinity) - acknowledgedAt);
    console.log(
      `deactivation at replica ${replica}: ${accesses.length} accesses, used ${uses.flat().length} times: the latest use to be served was sent ` +
        `${Math.max(0, ...servedMs.flat()).toFixed(0)} ms after the acknowledgement, and the latest first refusal came after ` +
        `${Math.max(...refusedMs).toFixed(0)} ms; load: ${requests} requests, ${failures.length} failures`,
    );
    expect(uses.flat().filter(({ doneAt, served }) => doneAt < beganAt && !served)).toEqual([]);
    const late = accesses.map(({ what }, index) => ({ what, ms: servedMs[index]!.filter((ms) => ms > WITHIN_MS) }));
    expect(late.filter(({ ms }) => ms.length > 0)).toEqual([]);
    expect(failures).toEqual([]);
    expect(requests).toBeGreaterThan(100);
  },
);

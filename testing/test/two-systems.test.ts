import { afterAll, beforeAll, expect, test } from 'vitest';
import { createToken } from '../src/credentials.ts';
import { load } from '../src/load.ts';
import { toolClient, type Tools } from '../src/mcp.ts';
import { restClient, type Rest } from '../src/rest.ts';
import { startServices, startWorld, type OwnWorld } from '../src/world.ts';

// Two whole systems on one database, as while an installation moves to another cluster (docs/moving.md).

const CUSTOMERS = ['acme', 'globex'];
const ANN = 'ann@acme.example';
const RANGE = 'start_date=2025-01-01T00:00:00Z&end_date=2026-01-01T00:00:00Z';
/** A cached response is valid for a second. The rest is for a busy machine. */
const REVOKED = { timeout: 10_000, interval: 50 };

let former: OwnWorld;
let next: Awaited<ReturnType<typeof startServices>> & { rest: Rest };
const keys: Record<string, string> = {};

beforeAll(async () => {
  former = await startWorld();
  const services = await startServices(former.databaseUrl, []);
  next = { ...services, rest: restClient(`http://${services.stack.addresses.api}`) };
  await former.load(
    CUSTOMERS.flatMap((organization) => [
      { type: 'organization', id: organization, name: organization, write_surface: true },
      { type: 'user', organization, email: ANN, name: 'Ann' },
      ...[1, 2, 3].map((n) => call(organization, n, organization)),
    ]),
  );
  for (const organization of CUSTOMERS) keys[organization] = await former.createKey(organization);
});
afterAll(async () => {
  await next?.stop();
  await former?.close();
});

function call(organization: string, n: number, summary: string) {
  return { type: 'call', organization, id: `call_${n}`, created_at: `2025-02-0${n}T00:00:00Z`, conducted_by: ANN, summary };
}
const systems = () => [former.rest, next.rest];
const key = (organization: string) => keys[organization]!;

test('both systems serve each organization its own records, and each sees what the other stores', async () => {
  for (const [index, rest] of systems().entries()) {
    const [operator, other] = [[former.operator, next.operator][index]!, systems()[1 - index]!];
    await load(
      operator,
      CUSTOMERS.map((organization) => call(organization, 1, `${organization} ${index}`)),
    );
    for (const organization of CUSTOMERS) {
      for (const each of [rest, other])
        expect((await each('/v1/calls/call_1', { key: key(organization) })).json).toMatchObject({
          summary: `${organization} ${index}`,
        });
    }
  }
});

test("a system continues the other's cursors", async () => {
  const [first, second] = systems();
  const { json } = await first!('/v1/changes?limit=2', { key: key('acme') });
  const rest = await second!(`/v1/changes?limit=2&cursor=${json.next_cursor}`, { key: key('acme') });
  expect(json.data).toHaveLength(2);
  expect(rest.json).toMatchObject({ has_more: false, data: [{ type: 'call.changed' }] });
  const tools = await toolsOfBoth('acme');
  const { value: page } = await tools[0]('list_calls', { limit: 2 });
  expect(page.calls.map(({ id }: { id: string }) => id)).toEqual(['call_3', 'call_2']);
  const { value: next2 } = await tools[1]('list_calls', { limit: 2, cursor: page.next_cursor });
  expect(next2.calls.map(({ id }: { id: string }) => id)).toEqual(['call_1']);
});

test('a system replays a creation of the other for the same idempotency key', async () => {
  const create = (rest: Rest) =>
    rest('/v1/projects', {
      key: key('acme'),
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': 'moving' },
      body: JSON.stringify({ name: 'Boxes', lead_email: ANN }),
    });
  const [created, repeated] = [await create(former.rest), await create(next.rest)];
  expect([created.status, repeated.status]).toEqual([201, 201]);
  expect(repeated.json).toEqual(created.json);
  expect(repeated.headers.get('idempotent-replayed')).toBe('true');
});

test('what one system revokes, both refuse within a second', async () => {
  const revoked = await former.createKey('acme');
  const tools = await toolsOfBoth('acme');
  const statuses = (each: string) =>
    Promise.all(systems().map(async (rest) => (await rest(`/v1/calls?${RANGE}`, { key: each })).status));
  expect(await statuses(revoked)).toEqual([200, 200]);
  const operator = await next.operator.operator('acme');
  const { apiKeys } = await next.operator.auth.listKeys({}, operator);
  await next.operator.auth.revokeKey({ keyId: apiKeys.find(({ prefix }) => revoked.startsWith(prefix))!.keyId }, operator);
  await next.operator.auth.setUserDisabled({ email: ANN, disabled: true }, operator);
  await expect.poll(() => statuses(revoked), REVOKED).toEqual([401, 401]);
  await expect
    .poll(() => Promise.all(tools.map(async (each) => (await each('list_projects')).status)), REVOKED)
    .toEqual([401, 401]);
  expect(await statuses(key('acme'))).toEqual([200, 200]);
  expect(await statuses(key('globex'))).toEqual([200, 200]);
});

/** Returns clients of the tools of both systems, with one token, which the former system issued. */
async function toolsOfBoth(organization: string): Promise<[Tools, Tools]> {
  const token = await createToken(former.operator, organization, ANN);
  return [toolClient(former.stack.addresses.tools, token), toolClient(next.stack.addresses.tools, token)];
}

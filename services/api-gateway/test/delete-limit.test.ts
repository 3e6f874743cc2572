import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { sharedWorld, type World } from '@crs/testing/world';
import { startGateway } from './_gateway.ts';
import { createSender, JSON_TYPE, sendRecords, type Sender } from './_records.ts';

const LIMIT = 4;
const NOWHERE = '127.0.0.1:1';

let world: World;
/** The only other organization, with the same ids. */
let globex: Sender;

beforeAll(async () => {
  world = await sharedWorld();
  globex = await createSender(world, 'globex', { delete_limit: LIMIT });
});

const deletions = (count: number) => Array.from({ length: count }, (_, i) => ({ type: 'call', id: `call_${i}`, deleted: true }));
const records = (count: number) => Array.from({ length: count }, (_, i) => ({ type: 'call', id: `call_${i}` }));

/** An organization with unused deletions, and as many calls as it may delete, and one more. */
async function newSender(): Promise<Sender> {
  const sender = await createSender(world, 'acme', { delete_limit: LIMIT });
  await sendRecords(world, sender.keys.ingest, records(LIMIT + 1));
  return sender;
}

const remove = ({ rest }: Pick<World, 'rest'>, key: string, id: string) => rest(`/v1/calls/${id}`, { method: 'DELETE', key });
const countCalls = async ({ id }: Sender) =>
  Number((await world.query('select count(*) from calls.calls where organization = $1', [id])).rows[0].count);

describe('deletions', () => {
  it('are limited for all keys of an organization together, and for no other organization', async () => {
    const acme = await newSender();
    expect((await sendRecords(world, acme.keys.delete, deletions(LIMIT - 1))).json).toMatchObject({ accepted: LIMIT - 1 });
    expect((await remove(world, acme.keys.all, `call_${LIMIT - 1}`)).status).toBe(204);
    const refused = await remove(world, acme.keys.delete, `call_${LIMIT}`);
    expect(refused.status).toBe(429);
    expect(refused.json.error).toMatchObject({
      code: 'rate_limited',
      message: expect.stringContaining('may delete 4 records an hour; 0 are left'),
    });
    const reset = Number(refused.headers.get('x-ratelimit-reset')) - Date.now() / 1_000;
    expect(reset).toBeGreaterThan(3_000);
    expect(reset).toBeLessThan(3_602);
    expect([refused.headers.get('x-ratelimit-limit'), refused.headers.get('x-ratelimit-remaining')]).toEqual(['4', '0']);
    expect(await countCalls(acme)).toBe(1);
    // Other requests aren't affected.
    expect((await sendRecords(world, acme.keys.all, records(1))).headers.get('x-ratelimit-limit')).toBe('100000');
    expect((await sendRecords(world, globex.keys.delete, deletions(1))).json).toMatchObject({ unchanged: 1 });
  });

  it('beyond what is left refuse the whole request, which leaves what is left', async () => {
    const acme = await newSender();
    await remove(world, acme.keys.delete, 'call_0');
    const refused = await sendRecords(world, acme.keys.all, [{ type: 'call', id: 'new' }, ...deletions(LIMIT)]);
    expect([refused.status, refused.headers.get('x-ratelimit-remaining')]).toEqual([429, String(LIMIT - 1)]);
    expect(await countCalls(acme)).toBe(LIMIT);
    expect((await sendRecords(world, acme.keys.delete, deletions(LIMIT - 1))).status).toBe(200);
  });

  it('beyond the limit are a bad request, also of a check, which is charged nothing', async () => {
    const acme = await newSender();
    for (const query of ['', '?check=true']) {
      const { status, json } = await sendRecords(world, acme.keys.delete, deletions(LIMIT + 1), query);
      expect([status, json.error.message]).toEqual([400, expect.stringMatching(/^body: must have at most 4 deletions/)]);
    }
    expect((await sendRecords(world, acme.keys.delete, deletions(LIMIT), '?check=true')).json).toMatchObject({ accepted: LIMIT });
    expect((await sendRecords(world, acme.keys.delete, deletions(LIMIT))).json).toMatchObject({ accepted: LIMIT });
  });

  it('that a key may not make are refused by line, and are not charged', async () => {
    const acme = await newSender();
    for (let n = 0; n < 2; n++) {
      expect((await sendRecords(world, acme.keys.ingest, deletions(LIMIT))).json).toMatchObject({ refused: LIMIT });
    }
    expect((await sendRecords(world, acme.keys.delete, deletions(LIMIT))).status).toBe(200);
  });

  it('are counted by the gateway itself while the rate-limit service is unavailable', async () => {
    const acme = await newSender();
    const gateway = await startGateway(world, { rateLimitAddress: NOWHERE });
    onTestFinished(() => gateway.stop());
    expect((await sendRecords(gateway, acme.keys.delete, deletions(LIMIT - 1))).status).toBe(200);
    expect((await sendRecords(gateway, acme.keys.delete, deletions(2))).status).toBe(429);
    expect((await remove(gateway, acme.keys.delete, `call_${LIMIT}`)).status).toBe(204);
    expect((await remove(gateway, acme.keys.delete, 'call_0')).status).toBe(429);
  });
});

it('an operator changes the limit', async () => {
  const acme = await newSender();
  expect((await sendRecords(world, acme.keys.delete, deletions(LIMIT + 1))).status).toBe(400);
  await world.load([{ type: 'organization', id: acme.id, delete_limit: LIMIT + 1 }]);
  await expect.poll(async () => (await sendRecords(world, acme.keys.delete, deletions(LIMIT + 1))).status).toBe(200);
  expect(
    (await world.rest('/v1/calls/call_0', { method: 'PUT', key: acme.keys.ingest, headers: JSON_TYPE, body: '{}' })).status,
  ).toBe(201);
});

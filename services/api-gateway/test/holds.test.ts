import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { sharedWorld, type World } from '@crs/testing/world';
import { callOf, createSender, JSON_TYPE, PROJECT, sendRecords, type Sender } from './_records.ts';

let world: World;
let acme: Sender;
let globex: Sender;
let holdId: string;

beforeAll(async () => {
  world = await sharedWorld();
  [acme, globex] = await Promise.all([createSender(world, 'acme'), createSender(world, 'globex')]);
  for (const { id, keys } of [acme, globex]) {
    await world.load([{ type: 'project', organization: id, id: PROJECT }]);
    await sendRecords(world, keys.all, [{ type: 'call', id: 'held', project_id: PROJECT, rating: 4 }]);
  }
});
beforeEach(async () => {
  const operator = await world.operator.operator(acme.id);
  ({ holdId } = await world.operator.calls.createHold({ label: 'SEC', projectId: PROJECT, callIds: [] }, operator));
  return async () => {
    await world.operator.calls.releaseHold({ holdId }, await world.operator.operator(acme.id));
  };
});

const send = async ({ keys }: Sender, method: string, body?: object) => {
  const request = { method, key: keys.all, ...(body && { headers: JSON_TYPE, body: JSON.stringify(body) }) };
  const { status, json, headers } = await world.rest('/v1/calls/held', request);
  return { status, error: json?.error, retryAfter: headers.get('retry-after') };
};

describe('a held call', () => {
  it.each([
    ['DELETE', undefined, () => `The legal hold ${holdId} keeps the call from being deleted.`],
    ['PUT', { rating: 4 }, () => `project_id: must not change: the legal hold ${holdId} keeps the call`],
    ['PATCH', { project_id: null }, () => `project_id: must not change: the legal hold ${holdId} keeps the call`],
  ])('refuses %s %j with 409, which names the hold', async (method, body, message) => {
    const { status, error, retryAfter } = await send(acme, method, body);
    expect([status, error.code, error.message, retryAfter]).toEqual([409, 'bad_request', message(), null]);
    expect(await callOf(world, acme, 'held')).toMatchObject({ project_id: PROJECT, rating: 4 });
  });

  it('can be changed in its project', async () => {
    expect(await send(acme, 'PATCH', { rating: 5 })).toMatchObject({ status: 200 });
    expect(await send(acme, 'PUT', { project_id: PROJECT, rating: 4 })).toMatchObject({ status: 200 });
  });

  it('is kept by lines of records, whatever becomes of the others', async () => {
    const lines = [
      { type: 'call', id: 'held', deleted: true },
      { type: 'call', id: 'new' },
      { type: 'call', id: 'held', project_id: null, merge: true },
    ];
    const errors = [
      { line: 1, field: 'deleted', reason: `must not be true: the legal hold ${holdId} keeps the call` },
      { line: 3, field: 'project_id', reason: `must not change: the legal hold ${holdId} keeps the call` },
    ];
    const aborted = await sendRecords(world, acme.keys.all, lines, '?on_refusal=abort');
    expect([aborted.status, aborted.json.error.details]).toEqual([400, errors]);
    for (const query of ['?check=true', '']) {
      const { status, json } = await sendRecords(world, acme.keys.all, lines, query);
      expect([status, json]).toEqual([200, { lines: 3, accepted: 1, unchanged: 0, refused: 2, errors }]);
    }
    expect(await callOf(world, acme, 'held')).toMatchObject({ project_id: PROJECT });
  });

  it('of one organization can be deleted in another', async () => {
    expect(await send(globex, 'DELETE')).toMatchObject({ status: 204 });
  });
});

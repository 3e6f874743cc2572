import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createToken } from '@crs/testing/credentials';
import { toolClient, type Tools } from '@crs/testing/mcp';
import { startWorld, type OwnWorld } from '@crs/testing/world';
import { COMMANDS, missingTools, openPage, type Page } from '../page.ts';

// Runs the commands of docs/runbooks/leaked-key.md after a key and a token have leaked, and checks that they list exactly what both read.

const RANGE = 'start_date=2025-01-01T00:00:00Z&end_date=2026-01-01T00:00:00Z';
const ANN = 'ann@acme.example';
const BOB = 'bob@acme.example';
let world: OwnWorld;
let page: Page;
let leaked: string;
let token: string;
let ids: { key: string; grant: string };
let day: { FROM: string; TO: string };
let sent = 0;

const callsOf = (organization: string) =>
  Array.from({ length: 9 }, (_, n) => ({
    type: 'call',
    organization,
    id: `call_${n}`,
    created_at: `2025-02-0${n + 1}T00:00:00Z`,
    date: `2025-03-0${9 - n}T00:00:00Z`,
    ...(organization === 'acme' && { conducted_by: n % 2 === 0 ? ANN : BOB }),
  }));

const run = (text: string, environment: Record<string, string>) => page.run(text, { ORG: 'acme', ...day, ...environment });

/** Waits until all requests so far are logged. @returns a timestamp between these and the next ones */
async function timestampNow(): Promise<string> {
  await vi.waitFor(() => expect(world.log.filter((line) => line.includes('"msg":"request"'))).toHaveLength(sent), {
    timeout: 10_000,
  });
  await sleep(5);
  const now = new Date().toISOString();
  await sleep(5);
  return now;
}

const get = (path: string, key: string, headers: Record<string, string> = {}) => {
  sent += 1;
  return world.rest(path, { key, headers });
};
const call = (tools: Tools, name: string, args: object) => {
  sent += 1;
  return tools(name, args);
};

beforeAll(async () => {
  world = await startWorld();
  page = await openPage('runbooks/leaked-key.md', world);
  await world.load([
    { type: 'organization', id: 'acme', name: 'Acme' },
    { type: 'organization', id: 'globex', name: 'Globex' },
    { type: 'user', organization: 'acme', email: ANN, name: 'Ann' },
    { type: 'user', organization: 'acme', email: BOB, name: 'Bob' },
    ...callsOf('acme'),
    ...callsOf('globex'),
  ]);
  leaked = await world.createKey('acme');
  token = await createToken(world.operator, 'acme', ANN);
  const operator = await world.operator.operator('acme');
  const { apiKeys } = await world.operator.auth.listKeys({}, operator);
  const { tokens } = await world.operator.auth.listTokens({}, operator);
  ids = { key: apiKeys[0]!.keyId, grant: tokens[0]!.tokenId };
  const [colleague, foreignKey] = [await world.createKey('acme'), await world.createKey('globex')];
  const ann = toolClient(world.stack.addresses.tools, token);
  const bob = toolClient(world.stack.addresses.tools, await createToken(world.operator, 'acme', BOB));

  const { headers } = await get('/v1/calls/call_2', leaked);
  await get(`/v1/calls?${RANGE}`, leaked);
  await call(ann, 'get_call', { call_id: 'call_6' });
  const FROM = await timestampNow();
  await get('/v1/calls/call_1', leaked);
  await get('/v1/calls/call_1', leaked);
  await get('/v1/calls/call_4', leaked);
  await get('/v1/calls/call_77', leaked);
  await get('/v1/calls/call_2', leaked, { 'if-none-match': headers.get('etag')! });
  await get(`/v1/calls?${RANGE}&per_page=3&page=2`, leaked);
  await get(`/v1/calls?${RANGE}&page=9`, leaked);
  await get('/v1/calls/call_5', colleague);
  await get('/v1/calls/call_6', foreignKey);
  await get(`/v1/calls?${RANGE}`, colleague);
  await call(ann, 'get_call', { call_id: 'call_8' });
  await call(ann, 'get_call', { call_id: 'call_3' });
  await call(ann, 'list_calls', { limit: 2 });
  await call(bob, 'list_calls', {});
  const TO = await timestampNow();
  await get('/v1/calls/call_7', leaked);
  await call(ann, 'list_calls', {});
  await timestampNow();
  day = { FROM, TO };
  await page.saveLog(world.log);
});
afterAll(async () => {
  await world?.close();
  await page?.close();
});

describe.skipIf(missingTools().length > 0)('with the runbook, an operator', COMMANDS, () => {
  it('finds the ids of the leaked key and token', async () => {
    const secrets = { KEY: leaked, TOKEN: token };
    expect((await run('crs key list', {})).join('\n')).toMatch(new RegExp(`${ids.key}.*${leaked.slice(0, 8)}[^]*${ids.grant}`));
    expect(await run('key_directory', secrets)).toEqual([`acme|${ids.key}`]);
    expect(JSON.parse((await run('@base64d', secrets)).join(''))).toEqual({ organization: 'acme', grant_id: ids.grant });
  });

  it('lists exactly what the key read on that day', async () => {
    const variables = { KEY_ID: ids.key, GRANT_ID: 'none' };
    await run('> day.log', variables);
    await run('> used.log', variables);
    expect((await run('uniq -c', variables)).map((line) => line.trim().replaceAll(/\s+/g, ' '))).toEqual([
      '3 127.0.0.1 getCall 200',
      '1 127.0.0.1 getCall 304',
      '1 127.0.0.1 getCall 404',
      '2 127.0.0.1 listCalls 200',
    ]);
    expect(await run('.call_id // empty', variables)).toEqual(['call_1', 'call_4']);
    const query = { start_date: '2025-01-01T00:00:00.000Z', end_date: '2026-01-01T00:00:00.000Z', page: 2, per_page: 3 };
    expect((await run('{time, operation', variables)).map((line) => JSON.parse(line))).toEqual([
      {
        time: expect.any(String),
        operation: 'listCalls',
        project_id: null,
        query,
        rows: 3,
        first_id: 'call_5',
        last_id: 'call_3',
      },
    ]);
    // Runs under the role of calls, because row-level security doesn't apply to a superuser.
    const pages = { ...variables, PGOPTIONS: '-c role=crs_calls' };
    expect(await run('pages.json', pages)).toEqual(['3 3 call_5', '3 3 call_4', '3 3 call_3']);
    expect(await run('createProject', variables)).toEqual([]);
  });

  it('lists what the token read, and which of its pages were filtered', async () => {
    const variables = { KEY_ID: 'none', GRANT_ID: ids.grant };
    await run('> used.log', variables);
    expect(await run('.call_id // empty', variables)).toEqual(['call_8']);
    expect((await run('uniq -c', variables)).join()).toContain('get_call\t404');
    // Ann's page had call_0 and call_2. Call_1 is between them, but she may not see it, so the row counts differ.
    expect(await run('pages.json', variables)).toEqual(['2 3 call_2', '2 3 call_1', '2 3 call_0']);
  });

  it('revokes both, and sees who still tries them', async () => {
    await run('crs key revoke', { KEY_ID: ids.key, GRANT_ID: ids.grant });
    const linesBefore = world.log.length;
    await vi.waitFor(async () => expect((await world.rest('/v1/calls/call_1', { key: leaked })).status).toBe(401), 20_000);
    expect((await world.rest('/v1/calls/call_1', { key: leaked })).status).toBe(401);
    await vi.waitFor(async () => {
      await writeFile(join(page.folder, 'day.log'), world.log.slice(linesBefore).join(''));
      const tries = (await run('DIGITS=', { KEY: leaked })).map((line) => line.split('\t'));
      expect(new Set(tries.map(([, address, status]) => `${address} ${status}`))).toEqual(new Set(['127.0.0.1 401']));
      expect(tries.reduce((sum, [, , , count]) => sum + Number(count), 0)).toBe(2);
    }, 20_000);
    expect((await run('crs audit', {})).join('\n')).toContain(ids.key);
  });
});

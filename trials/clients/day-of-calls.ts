/**
 * Lets clients that never refresh their access token call a tool for a day, every 20 minutes or as often as requested, on a system of its own whose clock this script moves. With
 * access tokens that live a day, none of the calls may get 401. With shorter ones, which prove that this trial can fail, all clients have to sign in again.
 * At the end of the day, `crs token revoke` must end each connection within a second.
 *
 *   CLOCK=PROGRAM PYTHON=PROGRAM CHROMIUM=PROGRAM node day-of-calls.ts LIFETIME_SECONDS [MINUTES_BETWEEN_CALLS]
 */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLogger } from '@crs/kit/process/log';
import { startPostgres } from '@crs/local/postgres';
import { createClock } from './clock.ts';
import * as demo from './demo.ts';
import { FORGETFUL, type ForgetfulClient } from './never-refresh.ts';
import { startSystem } from './system.ts';

const DAY = 86_400;
/** Longer than anything that the services cache. Caches measure age by the clock that doesn't move. */
const CACHED_MS = 1_050;
const lifetime = Number(process.argv[2]);
const PAUSE = Number(process.argv[3] ?? 20) * 60;
const { CLOCK } = process.env;
assert(
  CLOCK && lifetime,
  'usage: CLOCK=PROGRAM PYTHON=PROGRAM CHROMIUM=PROGRAM day-of-calls.ts LIFETIME_SECONDS [MINUTES_BETWEEN_CALLS]',
);

interface Token {
  token_id: string;
  kind: string;
  created_at: string;
  revoked_at: string;
}

const say = (line: string) => process.stdout.write(`  ${line}\n`);
const clock = await createClock(CLOCK);
const dataDir = await mkdtemp(join(tmpdir(), 'crs-postgres-'));
const log = createLogger('postgres', { level: 'silent' });
const postgres = await startPostgres({ dataDir, locale: 'C', fsync: false, log, env: clock.env });
const system = await startSystem({
  ...clock.env,
  DATABASE_URL: postgres.url,
  CRS_ACCESS_TOKEN_SECONDS: String(lifetime),
});
const clients: [string, ForgetfulClient][] = [];
try {
  Object.assign(process.env, { MCP_URL: system.url, MCP_USER: system.user.email, MCP_PASSWORD: system.user.password });
  const { openBrowser } = await import('./person.ts');
  const person = await openBrowser();
  const allow = (authorizationUrl: string) => person.decide(authorizationUrl, 'Allow');
  for (const [name, connect] of Object.entries(FORGETFUL))
    clients.push([name, await connect({ url: system.url, allow, env: clock.env })]);
  await person.leave();
  if (lifetime < DAY) await expectSignIns();
  else {
    await callForADay();
    await revokeEach();
  }
} finally {
  await Promise.allSettled(clients.map(([, client]) => client.close()));
  await system.stop();
  await postgres.stop();
  await rm(dataDir, { recursive: true });
  await clock.close();
}
// A client that waits for its user would keep this process running.
process.exit();

async function callForADay(): Promise<void> {
  // The limit of calls a minute follows the clock that doesn't move, too.
  await system.crs(['org', 'update', system.organization, '--tool-rate-limit', '1000000/60']);
  const refusedBefore = await refusals();
  let calls = 0;
  for (let ahead = 0; ahead < DAY; ahead += PAUSE) {
    await clock.setAhead(ahead);
    await sleep(CACHED_MS);
    for (const [name, client] of clients) {
      assert.deepEqual(await client.call(), idsOf(demo.projects), `${name} after ${ahead / 60} minutes`);
      calls++;
    }
  }
  assert.equal((await refusals()) - refusedBefore, 0, 'calls got 401');
  say(`${calls} calls of ${clients.length} clients in a day, 0 of them 401`);
}

async function expectSignIns(): Promise<void> {
  await clock.setAhead(PAUSE);
  await sleep(CACHED_MS);
  for (const [name, client] of clients) {
    const before = await refusals();
    assert.equal(await client.call(), undefined, `${name} doesn't have to sign in again`);
    assert((await refusals()) > before, `${name} got no 401`);
    say(`${name}: 401 after ${PAUSE / 60} minutes`);
  }
}

async function revokeEach(): Promise<void> {
  const { data } = await system.crs<{ data: Token[] }>(['token', 'list', '--org', system.organization]);
  const newestFirst = data.filter(({ kind }) => kind === 'oauth');
  assert.equal(newestFirst.length, clients.length, 'a client connected again');
  for (const [name, client] of clients) {
    const { token_id: id } = newestFirst.pop()!;
    const token = await system.crs<Token>(['token', 'revoke', id, '--org', system.organization, '--yes']);
    await sleep(1_000);
    assert.equal(await client.call(), undefined, `${name} can still call a tool a second after its grant was revoked`);
    // PostgreSQL writes both times. They prove that its clock has moved, too.
    const hours = (Date.parse(token.revoked_at) - Date.parse(token.created_at)) / 3_600_000;
    assert(hours > (DAY - PAUSE) / 3_600 - 0.5, `PostgreSQL counts ${hours} hours`);
    say(`${name}: refused a second after its grant was revoked`);
  }
}

/** The number of requests to the tools so far that got 401. */
async function refusals(): Promise<number> {
  // The log is written after the response.
  await sleep(100);
  const lines = (await readFile(system.logFile, 'utf8')).trim().split('\n');
  const requests = lines.map((line) => JSON.parse(line) as { route?: string; status?: number });
  return requests.filter(({ route, status }) => route === '/mcp' && status === 401).length;
}

function idsOf(rows: { id: string }[]): string[] {
  return rows.map(({ id }) => id);
}

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createToken } from '@crs/testing/credentials';
import { postMcp, toolClient } from '@crs/testing/mcp';
import { startWorld, type OwnWorld } from '@crs/testing/world';
import { COMMANDS, missingTools, openPage, type Page } from '../page.ts';

// Exceeds each limit of docs/runbooks/customer-429.md, and checks that its commands tell them apart. Another organization has the same ids.

const ANN = 'ann@acme.example';
const CUSTOMERS = ['acme', 'globex'];
const LIMIT = { requests: 3, period_seconds: 3600 };

let world: OwnWorld;
let page: Page;
const messages: Record<string, string> = {};
beforeAll(async () => {
  // The limits of messages and of sign-in are multiples or settings of their own.
  world = await startWorld({ addressLimit: { requests: 3, periodSeconds: 3600 } });
  page = await openPage('runbooks/customer-429.md', world);
  await world.load(
    CUSTOMERS.flatMap((organization) => [
      { type: 'organization', id: organization, name: organization, rate_limit: LIMIT, tool_rate_limit: LIMIT },
      { type: 'user', organization, email: ANN, name: 'Ann' },
    ]),
  );
  const key = await world.createKey('acme');
  const other = await world.createKey('globex');
  for (let n = 0; n < 5; n++) messages['organization'] = (await world.rest('/v1/changes', { key })).json.error?.message;
  expect((await world.rest('/v1/changes', { key: other })).status).toBe(200);
  for (let n = 0; n < 5; n++) messages['address'] = (await world.rest('/v1/changes', { key: 'crk_wrong' })).json.error?.message;
  const { tools: address } = world.stack.addresses;
  const tools = toolClient(address, await createToken(world.operator, 'acme', ANN));
  for (let n = 0; n < 5; n++) messages['user'] = (await tools('list_projects')).error?.message;
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
  const token = await createToken(world.operator, 'acme', ANN);
  for (let n = 0; n < 32; n++) await postMcp(address, ping, { authorization: `Bearer ${token}` });
  // Lines of repeated refusals are a second late.
  await vi.waitFor(() => expect(countRefused()).toBe(8), { timeout: 10_000 });
  await page.saveLog(world.log);
});
afterAll(async () => {
  await world?.close();
  await page?.close();
});

/** Counts the requests over a limit that the log has so far. */
function countRefused(): number {
  const lines = world.log.map((line) => JSON.parse(line) as { status?: number; tool_status?: number; count?: number });
  const refused = lines.filter(({ status, tool_status: toolStatus }) => [status, toolStatus].includes(429));
  return refused.reduce((sum, { count = 1 }) => sum + count, 0);
}

describe.skipIf(missingTools().length > 0)('with the runbook, the on-call engineer', COMMANDS, () => {
  it('recognizes the limit by the message', () => {
    expect(messages).toEqual({
      organization: expect.stringContaining('rate limit of the organization'),
      address: expect.stringContaining('rate limit of this address'),
      user: expect.stringContaining('rate limit of the user'),
    });
  });

  it('counts who was refused, with the requests that share a line', async () => {
    const rows = await page.run('hour.log');
    expect(rows.map((row) => row.split('\t'))).toEqual(
      expect.arrayContaining([
        ['2', 'api-gateway', 'acme', '127.0.0.1', 'none'],
        ['2', 'api-gateway', '-', '127.0.0.1', 'none'],
        ['4', 'tool-gateway', 'acme', '127.0.0.1', '/mcp,list_projects'],
      ]),
    );
    expect(rows).toHaveLength(3);
  });

  it('reads the limits of the organization', async () => {
    expect((await page.run('crs org show', { ORG: 'acme' })).join('\n')).toMatch(/rate limit requests +3\b/);
  });
});

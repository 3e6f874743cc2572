import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createToken } from '@crs/testing/credentials';
import { toolClient } from '@crs/testing/mcp';
import { startWorld, type OwnWorld } from '@crs/testing/world';
import { COMMANDS, missingTools, openPage, type Page } from '../page.ts';

// Runs the commands of docs/traces.md, which find requests in the log. Another organization has the same ids.

const ANN = 'ann@acme.example';
const call = (organization: string) => ({
  type: 'call',
  organization,
  id: 'call_1',
  conducted_by: ANN,
  created_at: '2025-02-01T00:00:00Z',
});

let world: OwnWorld;
let page: Page;
let ID: string;
beforeAll(async () => {
  world = await startWorld();
  page = await openPage('traces.md', world);
  await world.load(
    ['acme', 'globex'].flatMap((organization) => [
      { type: 'organization', id: organization, name: organization },
      { type: 'user', organization, email: ANN, name: 'Ann' },
      call(organization),
    ]),
  );
  ID = (await world.rest('/v1/calls/call_1', { key: await world.createKey('acme') })).headers.get('x-request-id')!;
  await world.rest('/v1/calls/call_1', { key: await world.createKey('globex') });
  for (const organization of ['acme', 'globex'])
    await toolClient(world.stack.addresses.tools, await createToken(world.operator, organization, ANN))('get_call', {
      call_id: 'call_1',
    });
  await vi.waitFor(() => expect(world.log.filter((line) => line.includes('"msg":"request"'))).toHaveLength(4), {
    timeout: 10_000,
  });
  await page.saveLog(world.log);
});
afterAll(async () => {
  await world?.close();
  await page?.close();
});

describe.skipIf(missingTools().length > 0)('with the page on traces, support', COMMANDS, () => {
  it('finds the log lines of a request by its id', async () => {
    const lines = (await page.run('env.ID', { ID })).map((line) => JSON.parse(line) as object);
    expect(lines).toContainEqual(
      expect.objectContaining({ msg: 'request', organization: 'acme', operation: 'getCall', trace_id: ID }),
    );
    expect(lines.filter((line) => 'organization' in line && line.organization === 'globex')).toEqual([]);
  });

  it("lists a user's slowest requests with their ids", async () => {
    await writeFile(join(page.folder, 'day.log'), world.log.join(''));
    const rows = await page.run('USER_ID=');
    expect(rows).toEqual([expect.stringMatching(/^0\.\d+\t\d{4}-\S+Z\tget_call\t200\t[0-9a-f]{32}$/)]);
  });
});

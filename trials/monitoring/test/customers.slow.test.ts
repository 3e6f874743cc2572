import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createToken } from '@crs/testing/credentials';
import { toolClient } from '@crs/testing/mcp';
import { startWorld, type OwnWorld } from '@crs/testing/world';
import { COMMANDS, missingTools, openPage, type Page } from '../page.ts';

// Runs the commands of docs/customers.md from the first to the last, beside another customer with the same ids.

const ANN = 'ann@acme.example';
const BOB = 'bob@acme.example';
const call = (organization: string) => ({
  type: 'call',
  organization,
  id: 'call_1',
  created_at: '2025-02-01T00:00:00Z',
  rating: 4,
});

let world: OwnWorld;
let page: Page;
let globexKey: string;
let API: string;
beforeAll(async () => {
  world = await startWorld();
  API = `http://${world.stack.addresses.api}`;
  page = await openPage('customers.md', world);
  await world.load([
    { type: 'organization', id: 'globex', name: 'Globex' },
    { type: 'user', organization: 'globex', email: ANN, name: 'Ann' },
    call('globex'),
  ]);
  globexKey = await world.createKey('globex');
});
afterAll(async () => {
  await world?.close();
  await page?.close();
});

const keyOf = async () => (JSON.parse(await readFile(join(page.folder, 'acme-crm.json'), 'utf8')) as { key: string }).key;
const getCall = async (key: string) => world.rest('/v1/calls/call_1', { key });
const statusBecomes = async (status: number) => {
  const key = await keyOf();
  await expect.poll(async () => (await getCall(key)).status).toBe(status);
  expect((await getCall(globexKey)).status).toBe(200);
};

describe.skipIf(missingTools().length > 0)('with the page on customers, an operator', COMMANDS, () => {
  it('creates an organization with people, a password and a key that reads', async () => {
    await page.run('crs org create acme');
    await writeFile(
      join(page.folder, 'users.ndjson'),
      JSON.stringify({ type: 'user', organization: 'acme', email: ANN, name: 'Ann' }),
    );
    expect((await page.run('crs import users.ndjson')).join('\n')).toMatch(/1 accepted[^]*bob@acme\.example/);
    expect((await page.run('crs user set-password')).join('\n')).toMatch(/password +\w{20}/);
    await page.run('crs key create --org acme');
    const { mode } = await stat(join(page.folder, 'acme-crm.json'));
    expect(mode & 0o077).toBe(0);
    const response = await page.run('curl -si', { API });
    expect(response[0]).toContain(' 200 ');
    expect(response.join('\n')).toMatch(/x-ratelimit-limit: 600\b/i);
  });

  it('changes limits and fields, and disables who left', async () => {
    await world.load([call('acme')]);
    const bob = toolClient(world.stack.addresses.tools, await createToken(world.operator, 'acme', BOB));
    expect((await bob('list_projects')).status).toBe(200);
    await page.run('crs org update acme');
    await expect.poll(async () => (await bob('list_projects')).status).toBe(401);
    const { headers, json } = await getCall(await keyOf());
    expect(headers.get('x-ratelimit-limit')).toBe('1200');
    expect(json).toMatchObject({ rating: 4, participants: [] });
    expect(json).not.toHaveProperty('qa_blocks');
    expect((await getCall(globexKey)).json).toHaveProperty('qa_blocks');
  });

  it('suspends and resumes the organization, whose imports continue', async () => {
    await page.run('crs org suspend');
    await statusBecomes(401);
    await world.load([{ ...call('acme'), rating: 5 }]);
    await page.run('crs org resume');
    await statusBecomes(200);
    expect((await getCall(await keyOf())).json).toMatchObject({ rating: 5 });
  });

  it('exports and deletes it, and proves that nothing but the trail is left', async () => {
    await page.run('crs org suspend');
    await page.run('crs export --org acme');
    const copy = await readFile(join(page.folder, 'acme.ndjson'), 'utf8');
    expect(copy.split('\n').filter((line) => line.includes('"call_1"'))).toHaveLength(1);
    expect(await countRows()).toMatchObject({ 'calls.calls': 1, 'auth.users': 2, 'auth.api_keys': 1 });
    await page.run('crs org delete acme');
    await statusBecomes(401);
    const entries = (await page.run('crs audit --org acme')).map((line) => JSON.parse(line) as object);
    const entry = (action: string) => ({ at: expect.any(String), actor: expect.any(String), action, outcome: 'done' });
    expect(entries).toEqual([entry('erasure.finish'), entry('organization.delete')]);
    const { 'auth.audit': trail, ...others } = await countRows();
    expect(trail).toBeGreaterThan(5);
    expect(Object.keys(others).length).toBeGreaterThan(10);
    expect(Object.entries(others).filter(([, count]) => count !== 0)).toEqual([]);
  });
});

/** @returns the rows of the organization by table, as the page's query counts them */
async function countRows(): Promise<Record<string, number>> {
  const rows = (await page.run('psql -At')).map((line) => line.split('|'));
  return Object.fromEntries(rows.map(([schema, table, count]) => [`${schema}.${table}`, Number(count)]));
}

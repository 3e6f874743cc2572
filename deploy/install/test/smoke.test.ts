import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { INHERITED } from '@crs/testing/inherited';
import { OPERATOR_CREDENTIAL } from '@crs/testing/setup';
import { sharedWorld, TOOLS_URL, type World } from '@crs/testing/world';
import { beforeAll, expect, test, vi } from 'vitest';

// The smoke test starts a process for each command of `crs`.
vi.setConfig({ testTimeout: 120_000 });

const SMOKE = join(import.meta.dirname, '../src/smoke.ts');
let world: World;
/** The organizations before the smoke test. Other tests share the database, and leave theirs behind. */
let before: unknown[];
beforeAll(async () => {
  world = await sharedWorld();
  before = await organizations();
});

async function smoke(overrides: Record<string, string> = {}): Promise<{ code: number; lines: string[] }> {
  const { addresses } = world.stack;
  const env = {
    ...INHERITED,
    CRS_AUTH_ADMIN_ADDRESS: addresses.authAdmin,
    CRS_CALLS_ADMIN_ADDRESS: addresses.callsAdmin,
    CRS_ENTITIES_ADMIN_ADDRESS: addresses.entitiesAdmin,
    CRS_WEBHOOKS_ADMIN_ADDRESS: addresses.webhooksAdmin,
    CRS_PROJECTS_ADMIN_ADDRESS: addresses.projectsAdmin,
    CRS_OPERATOR_CREDENTIAL: OPERATOR_CREDENTIAL,
    CRS_SMOKE_API: `http://${addresses.api}`,
    CRS_SMOKE_TOOLS: `http://${addresses.tools}`,
    CRS_TOOLS_URL: TOOLS_URL,
    ...overrides,
  };
  const run = promisify(execFile)(process.execPath, [SMOKE], { env });
  const { stdout, code = 0 } = (await run.catch((failure: unknown) => failure)) as { stdout: string; code?: number };
  return { code, lines: stdout.trim().split('\n') };
}

const organizations = async () => (await world.query('select organization from auth.organizations order by 1')).rows;

test('the smoke test passes on a working installation, and leaves no organization behind', async () => {
  const { code, lines } = await smoke();
  expect([code, lines.at(-1), lines.filter((line) => line.startsWith('FAIL'))]).toEqual([0, '9 passed, 0 failed', []]);
  expect(await organizations()).toEqual(before);
});

test('the smoke test fails if the tool gateway has another URL than expected, and leaves no organization behind', async () => {
  const { code, lines } = await smoke({ CRS_TOOLS_URL: 'https://elsewhere.example' });
  expect([code, lines.at(-1)]).toEqual([1, '6 passed, 3 failed']);
  expect(await organizations()).toEqual(before);
});

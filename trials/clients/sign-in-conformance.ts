/** Runs the official conformance suite's checks of an authorization server. Opens the URL that the suite prints for its user, and consents there. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Check } from './conformance.ts';
import { openBrowser, origin } from './person.ts';

const [, , id, port] = process.argv;
assert(id && port, 'usage: sign-in-conformance.ts CLIENT_ID PORT');

const output = await mkdtemp(join(tmpdir(), 'conformance-'));
const bin = new URL('node_modules/.bin/conformance', import.meta.url).pathname;
const options = ['--url', origin, '--client-id', id, '--resource', process.env['MCP_URL']!, '--port', port, '-o', output];
const suite = spawn(process.execPath, [bin, 'authorization', ...options], { stdio: ['ignore', 'pipe', 'inherit'] });
const person = await openBrowser();
for await (const line of createInterface({ input: suite.stdout })) {
  if (line.startsWith(`${origin}/`)) await person.decide(line, 'Allow');
}
await person.leave();

const passed: string[] = [];
for (const directory of await readdir(output)) {
  const checks = JSON.parse(await readFile(join(output, directory, 'checks.json'), 'utf8')) as Check[];
  for (const { id: check, status, errorMessage } of checks) {
    assert.equal(status, 'SUCCESS', `${check}: ${errorMessage}`);
    passed.push(check);
  }
}
assert.deepEqual(passed.toSorted(), [
  'authorization-code-grant',
  'authorization-server-metadata',
  'authorization-server-metadata-cimd',
]);
assert.equal(suite.exitCode, 0);
process.stdout.write(`  ${passed.join(', ')}\n`);

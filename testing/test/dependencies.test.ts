import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const RUN = join(import.meta.dirname, '../../.ci/dependencies/run');
const VULNERABILITY = {
  id: 1,
  url: 'https://example.com/advisory',
  title: 'Anybody may read everything',
  severity: 'high',
  vulnerable_versions: '>=0',
  cwe: ['CWE-284'],
  cvss: { score: 7.5, vectorString: null },
};

/** Runs the check against a vulnerability database that returns this response. */
async function check(status: number, body: object): Promise<{ code: number; output: string }> {
  const database = createServer((_request, response) => {
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
  }).listen(0, '127.0.0.1');
  await once(database, 'listening');
  try {
    const registry = `http://127.0.0.1:${(database.address() as AddressInfo).port}/`;
    return await new Promise((resolve) =>
      execFile(RUN, [`--registry=${registry}`], (error, stdout, stderr) =>
        resolve({ code: error ? Number(error.code) : 0, output: stdout + stderr }),
      ),
    );
  } finally {
    database.close();
  }
}

it('the check passes if no dependency has a known vulnerability', { timeout: 60_000 }, async () => {
  expect(await check(200, {})).toMatchObject({ code: 0, output: expect.stringMatching(/no known vulnerabilities/i) });
});

it('the check fails if a package that the product runs has a vulnerability', { timeout: 60_000 }, async () => {
  const { code, output } = await check(200, { express: [VULNERABILITY] });
  expect(output).toContain(VULNERABILITY.title);
  expect(code).toBe(1);
});

it('the check reports that nothing was checked if the vulnerability database is unavailable', { timeout: 60_000 }, async () => {
  const { code, output } = await check(405, {});
  expect(output).toContain('NOT checked');
  expect(code).toBe(2);
});

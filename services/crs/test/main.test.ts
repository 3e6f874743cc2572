import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { INHERITED } from '@crs/testing/inherited';
import { programOf } from '@crs/testing/programs';
import { runCrs } from '@crs/testing/run-crs';
import type { World } from '@crs/testing/world';
import { afterAll, describe, expect, test } from 'vitest';

const dir = mkdtempSync(join(tmpdir(), 'crs-main-'));
afterAll(() => rmSync(dir, { recursive: true }));

/** An address on which nothing listens. */
const UNREACHABLE = '127.0.0.1:1';
const addresses = { authAdmin: UNREACHABLE, projectsAdmin: UNREACHABLE, callsAdmin: UNREACHABLE, entitiesAdmin: UNREACHABLE };
/** An installation whose services are down. */
const DOWN = { stack: { addresses } } as World;

const crs = (args: string[], { input = '', environment = {} } = {}) =>
  runCrs(DOWN, args, input, { CRS_DATA_DIR: dir, ...environment });

/** Runs the command as a process, without an installation. */
function startCrs(args: string[], input = '') {
  const env = { ...INHERITED, CRS_DATA_DIR: dir };
  const { status, stdout, stderr } = spawnSync(process.execPath, [programOf('crs'), ...args], { env, input, encoding: 'utf8' });
  return { status, stdout, stderr };
}

describe('crs as a process', () => {
  test('writes a result to standard output and exits with 0', () => {
    const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../../package.json'), 'utf8')) as {
      version: string;
    };
    expect(startCrs(['--version'])).toEqual({ status: 0, stdout: `${version}\n`, stderr: '' });
  });

  test('writes a usage error to standard error and exits with 2', () => {
    const { status, stdout, stderr } = startCrs(['org', 'list', '--frob']);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain("unknown option '--frob'");
  });

  test('writes a failure to standard error and exits with 1', () => {
    const { status, stdout, stderr } = startCrs(['org', 'list']);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(/^error: There is no local installation .*npm start.*\n$/);
  });
});

describe('help and generated text are printed for', () => {
  test.each([
    [['--help'], 'Commands:'],
    [['help', 'org'], 'org [options]'],
    [['org', '--help'], 'update'],
    [['org', 'create', '--help'], '--tool-rate-limit'],
    [['org', 'update', '--help'], '--delete-limit'],
    [['org', 'update', '--help'], '--oidc-issuer'],
    [['user', '--help'], 'unlink'],
    [['org', 'delete', '--help'], 'Run it again to finish a deletion that was interrupted.'],
    [['user', 'delete', '--help'], 'stay, without a conductor or creator'],
    [['export', '--help'], 'Needs the role admin'],
    [['completion', 'bash'], 'complete -o default -F _crs crs'],
    [['completion', 'zsh'], 'bashcompinit'],
    [['completion', 'fish'], 'complete -c crs'],
    [['key', 'create', '--help'], 'crs key create --org acme --label crm --expires-in 90d'],
    [['convert', '--help'], 'crs convert --from teams meeting.vtt'],
    [['import', '--help'], 'zcat records.ndjson.gz | crs import -'],
    [['import', '--schema'], 'https://json-schema.org/draft/2020-12/schema'],
  ])('%j', async (args, part) => {
    const { status, stdout, stderr } = await crs(args);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toContain(part);
  });
});

test('the completion script makes bash complete commands, options and arguments', async () => {
  const script = (await crs(['completion', 'bash'])).stdout;
  const after = (...words: string[]) => {
    const line = ['crs', ...words].map((word) => `'${word}'`).join(' ');
    const bashScript = `${script}COMP_WORDS=(${line}); COMP_CWORD=${words.length}; _crs; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return spawnSync('bash', ['-c', bashScript], { encoding: 'utf8' }).stdout.trim().split('\n');
  };
  expect(after('us')).toEqual(['user']);
  expect(after('key', 'r')).toEqual(['revoke']);
  expect(after('key', 'revoke', 'k1', '--org', 'acme', '--y')).toEqual(['--yes']);
  expect(after('completion', '')).toEqual(['bash', 'zsh', 'fish', '--help']);
});

describe('crs exits with 2 for the wrong arguments', () => {
  test.each([
    [[], 'Usage: crs'],
    [['org'], 'Usage: crs org'],
    [['frob'], "unknown command 'frob'"],
    [['frob'], 'Run `crs --help` for usage.'],
    [['org', 'list', 'more'], 'Run `crs org list --help` for usage.'],
    [['org', 'list', '--frob'], "unknown option '--frob'"],
    [['org', 'list', 'more'], 'too many arguments'],
    [['org', 'create', 'Acme', '--name', 'x'], '1 to 40 of a-z'],
    [['org', 'create', 'acme'], '--name'],
    [['org', 'update', 'acme'], 'at least one setting'],
    [['org', 'update', 'acme', '--write-surface', 'yes'], 'on or off'],
    [['org', 'update', 'acme', '--oidc-issuer', 'http://idp.example'], 'an https URL'],
    [['org', 'update', 'acme', '--oidc-domains', 'acme'], 'domains with commas between them'],
    [['org', 'delete'], 'id'],
    [['org', 'delete', 'acme'], 'deletes acme with all its users, projects and calls; add --yes'],
    [['org', 'delete', 'Acme', '--yes'], '1 to 40 of a-z'],
    [['completion', 'tcsh'], 'bash, zsh, fish'],
    [['export'], '--org'],
    [['key', 'create'], '--org'],
    [['key', 'create', '--org', ''], '1 to 40 of a-z'],
    [['key', 'create', '--org', 'acme', '--expires-in', '90'], 'like 90d'],
    [['member', 'add', '--org', 'acme', '--project', 'p', '--user', 'a@b', '--role', 'boss'], 'lead, member'],
    [['import'], 'file'],
  ])('%j', async (args, part) => {
    const { status, stdout, stderr } = await crs(args);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain(part);
  });
});

describe('crs exits with 1', () => {
  test('if the services are down, and prints the error as text or JSON', async () => {
    const forPeople = await crs(['org', 'list']);
    expect(forPeople).toMatchObject({ status: 1, stdout: '' });
    expect(forPeople.stderr).toMatch(/^error: The auth service is not available\. .*`crs status`.*\n$/);

    const forPrograms = await crs(['org', 'list', '--json']);
    expect(forPrograms).toMatchObject({ status: 1, stdout: '' });
    expect(JSON.parse(forPrograms.stderr)).toMatchObject({ error: { code: 'unavailable' } });
  });

  test('if status finds services that are down, and lists them', async () => {
    const environment = { CRS_TOOL_GATEWAY_HEALTH_ADDRESS: UNREACHABLE, CRS_RATE_LIMIT_HEALTH_ADDRESS: UNREACHABLE };
    const { status, stdout } = await crs(['status', '--json'], { environment });
    expect(status).toBe(1);
    const unreachable = { address: UNREACHABLE, up: false, latency_ms: null, problem: expect.stringContaining('not available') };
    const unknown = { address: null, up: null, latency_ms: null };
    expect(JSON.parse(stdout)).toEqual({
      ok: false,
      data: [
        { service: 'auth', ...unreachable },
        { service: 'projects', ...unreachable },
        { service: 'calls', ...unreachable },
        { service: 'entities', ...unreachable },
        { service: 'api-gateway', ...unknown, problem: 'CRS_API_GATEWAY_HEALTH_ADDRESS is not set.' },
        { service: 'tool-gateway', ...unreachable },
        { service: 'rate-limit', ...unreachable },
        { service: 'postgresql', ...unknown, problem: 'No service tells.' },
        { service: 'redis', ...unknown, problem: 'The rate-limit service does not tell.' },
      ],
    });
  });

  test.each([
    ['a missing file', 'nowhere.ndjson', 'nowhere.ndjson does not exist.'],
    ['a directory', '/', '/ is a directory.'],
  ])('if import is given %s', async (_, file, message) => {
    expect(await crs(['import', file])).toEqual({ status: 1, stdout: '', stderr: `error: ${message}\n` });
  });

  test.each([
    ['password', ['user', 'create', '--org', 'acme', '--email', 'a@b', '--name', 'A', '--password-stdin'], '\n'],
    ['client secret', ['org', 'update', 'acme', '--oidc-client-secret-stdin'], ''],
  ])('if standard input has no %s', async (name, args, input) => {
    const { status, stderr } = await crs(args, { input });
    expect(status).toBe(1);
    expect(stderr).toContain(`no ${name} on standard input`);
  });
});

describe('an import of lines that crs refuses itself', () => {
  const lines = '\uFEFF\r\nno JSON\r\n{"type":"audit","organization":"acme"}\n{"type":"organization","id":"acme","deleted":true}';
  const errors = [
    { line: 2, field: null, reason: 'must be valid JSON' },
    { line: 3, field: 'type', reason: 'must be one of organization, user, billing_office, project, call, entity' },
    { line: 4, field: 'deleted', reason: 'is not possible by import; use "crs org delete"' },
  ];

  test('prints one JSON summary with --json', async () => {
    const file = join(dir, 'bad.ndjson');
    writeFileSync(file, lines);
    const { status, stdout, stderr } = await crs(['import', file, '--json']);
    expect({ status, stderr }).toEqual({ status: 1, stderr: '' });
    expect(JSON.parse(stdout)).toEqual({ lines: 4, accepted: 0, unchanged: 0, refused: 3, errors });
  });

  test('prints each error with its line number, for lines from standard input', async () => {
    expect(await crs(['import', '-'], { input: lines })).toEqual({
      status: 1,
      stdout: '4 lines: 0 accepted, 0 unchanged, 3 refused.\n',
      stderr: errors.map(({ line, field, reason }) => `line ${line}: ${field === null ? '' : `${field}: `}${reason}\n`).join(''),
    });
  });

  test('lists the first 1,000 errors and counts the rest', async () => {
    const many = { input: 'x\n'.repeat(1_002) };
    const forPrograms = JSON.parse((await crs(['import', '-', '--json'], many)).stdout) as { refused: number; errors: object[] };
    expect([forPrograms.refused, forPrograms.errors.length]).toEqual([1_002, 1_000]);
    expect((await crs(['import', '-'], many)).stderr).toMatch(/line 1000: must be valid JSON\n\.\.\. and 2 more\.\n$/);
  });

  test('succeeds for an empty file', async () => {
    const { status, stdout } = await crs(['import', '-', '--json']);
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toEqual({ lines: 0, accepted: 0, unchanged: 0, refused: 0, errors: [] });
  });
});

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { INHERITED } from '@crs/testing/inherited';
import { afterAll, describe, expect, test, vi } from 'vitest';

// Each test starts the program once or twice, on a machine that may be busy.
vi.setConfig({ testTimeout: 30_000 });

const MAIN = join(import.meta.dirname, '../src/main.ts');
const dir = mkdtempSync(join(tmpdir(), 'crs-main-'));
afterAll(() => rmSync(dir, { recursive: true }));

/** Nobody listens there. */
const AWAY = {
  CRS_AUTH_ADMIN_ADDRESS: '127.0.0.1:1',
  CRS_PROJECTS_ADMIN_ADDRESS: '127.0.0.1:1',
  CRS_CALLS_ADMIN_ADDRESS: '127.0.0.1:1',
  CRS_ENTITIES_ADMIN_ADDRESS: '127.0.0.1:1',
  CRS_OPERATOR_CREDENTIAL: 'cro_x',
};

function crs(args: string[], environment: Record<string, string> = {}, input = '') {
  const env = { ...INHERITED, CRS_DATA_DIR: dir, ...environment };
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...args], { env, input, encoding: 'utf8' });
  return { status, stdout, stderr };
}

describe('help', () => {
  test.each([
    [['--help'], 'Commands:'],
    [['help', 'org'], 'org [options]'],
    [['org', '--help'], 'update'],
    [['org', 'create', '--help'], '--tool-rate-limit'],
    [['org', 'update', '--help'], '--oidc-issuer'],
    [['user', '--help'], 'unlink'],
    [['org', 'delete', '--help'], 'Run it again to finish a deletion that was interrupted.'],
    [['user', 'delete', '--help'], 'stay, without a conductor or creator'],
    [['export', '--help'], 'Needs the role admin'],
    [['completion', 'bash'], 'complete -o default -F _crs crs'],
    [['completion', 'zsh'], 'bashcompinit'],
    [['completion', 'fish'], 'complete -c crs'],
    [['key', 'create', '--help'], 'crs key create --org acme --label crm --expires-in 90d'],
    [['import', '--help'], 'zcat records.ndjson.gz | crs import -'],
    [['import', '--schema'], 'https://json-schema.org/draft/2020-12/schema'],
  ])('%j', (args, part) => {
    const { status, stdout, stderr } = crs(args);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toContain(part);
  });
});

test('the version is that of the release', () => {
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../../package.json'), 'utf8')) as { version: string };
  expect(crs(['--version'])).toEqual({ status: 0, stdout: `${version}\n`, stderr: '' });
});

test('bash completes commands, options and arguments', () => {
  const script = crs(['completion', 'bash']).stdout;
  const after = (...words: string[]) => {
    const line = ['crs', ...words].map((word) => `'${word}'`).join(' ');
    const ask = `${script}COMP_WORDS=(${line}); COMP_CWORD=${words.length}; _crs; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return spawnSync('bash', ['-c', ask], { encoding: 'utf8' }).stdout.trim().split('\n');
  };
  expect(after('us')).toEqual(['user']);
  expect(after('key', 'r')).toEqual(['revoke']);
  expect(after('key', 'revoke', 'k1', '--org', 'acme', '--y')).toEqual(['--yes']);
  expect(after('completion', '')).toEqual(['bash', 'zsh', 'fish', '--help']);
});

describe('usage errors end with 2', () => {
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
  ])('%j', (args, part) => {
    const { status, stdout, stderr } = crs(args);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain(part);
  });
});

describe('failures end with 1', () => {
  test('no installation', () => {
    const { status, stdout, stderr } = crs(['org', 'list']);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(/^error: There is no local installation .*npm start.*\n$/);
  });

  test('no service answers, for people and for programs', () => {
    const forPeople = crs(['org', 'list'], AWAY);
    expect(forPeople).toMatchObject({ status: 1, stdout: '' });
    expect(forPeople.stderr).toMatch(/^error: The auth service is not available\. .*`crs status`.*\n$/);

    const forPrograms = crs(['org', 'list', '--json'], AWAY);
    expect(forPrograms).toMatchObject({ status: 1, stdout: '' });
    expect(JSON.parse(forPrograms.stderr)).toMatchObject({ error: { code: 'unavailable' } });
  });

  test('status tells which services are away', () => {
    const health = { CRS_TOOL_GATEWAY_HEALTH_ADDRESS: '127.0.0.1:1', CRS_RATE_LIMIT_HEALTH_ADDRESS: '127.0.0.1:1' };
    const { status, stdout } = crs(['status', '--json'], { ...AWAY, ...health });
    expect(status).toBe(1);
    const away = { address: '127.0.0.1:1', up: false, latency_ms: null, problem: expect.stringContaining('not available') };
    const unknown = { address: null, up: null, latency_ms: null };
    expect(JSON.parse(stdout)).toEqual({
      ok: false,
      data: [
        { service: 'auth', ...away },
        { service: 'projects', ...away },
        { service: 'calls', ...away },
        { service: 'entities', ...away },
        { service: 'api-gateway', ...unknown, problem: 'CRS_API_GATEWAY_HEALTH_ADDRESS is not set.' },
        { service: 'tool-gateway', ...away },
        { service: 'rate-limit', ...away },
        { service: 'postgresql', ...unknown, problem: 'No service tells.' },
        { service: 'redis', ...unknown, problem: 'The rate-limit service does not tell.' },
      ],
    });
  });

  test.each([
    ['a missing file', 'nowhere.ndjson', 'nowhere.ndjson does not exist.'],
    ['a directory', '/', '/ is a directory.'],
  ])('import of %s', (_, file, message) => {
    expect(crs(['import', file], AWAY)).toEqual({ status: 1, stdout: '', stderr: `error: ${message}\n` });
  });

  test('no password on standard input', () => {
    const { status, stderr } = crs(
      ['user', 'create', '--org', 'acme', '--email', 'a@b', '--name', 'A', '--password-stdin'],
      AWAY,
      '\n',
    );
    expect(status).toBe(1);
    expect(stderr).toContain('no password on standard input');
  });

  test('no client secret on standard input', () => {
    const { status, stderr } = crs(['org', 'update', 'acme', '--oidc-client-secret-stdin'], AWAY, '');
    expect(status).toBe(1);
    expect(stderr).toContain('no client secret on standard input');
  });
});

describe('an import whose lines never reach a service', () => {
  const lines = '\uFEFF\r\nno JSON\r\n{"type":"audit","organization":"acme"}\n{"type":"organization","id":"acme","deleted":true}';
  const errors = [
    { line: 2, field: null, reason: 'must be valid JSON' },
    { line: 3, field: 'type', reason: 'must be one of organization, user, billing_office, project, call, entity' },
    { line: 4, field: 'deleted', reason: 'is not possible by import; use "crs org delete"' },
  ];

  test('prints one JSON summary for programs', () => {
    const file = join(dir, 'bad.ndjson');
    writeFileSync(file, lines);
    const { status, stdout, stderr } = crs(['import', file, '--json'], AWAY);
    expect({ status, stderr }).toEqual({ status: 1, stderr: '' });
    expect(JSON.parse(stdout)).toEqual({ lines: 4, accepted: 0, unchanged: 0, refused: 3, errors });
  });

  test('names lines for people, read from standard input', () => {
    expect(crs(['import', '-'], AWAY, lines)).toEqual({
      status: 1,
      stdout: '4 lines: 0 accepted, 0 unchanged, 3 refused.\n',
      stderr: errors.map(({ line, field, reason }) => `line ${line}: ${field === null ? '' : `${field}: `}${reason}\n`).join(''),
    });
  });

  test('lists 1,000 errors and counts the rest', () => {
    const many = 'x\n'.repeat(1_002);
    const forPrograms = JSON.parse(crs(['import', '-', '--json'], AWAY, many).stdout) as { refused: number; errors: object[] };
    expect([forPrograms.refused, forPrograms.errors.length]).toEqual([1_002, 1_000]);
    expect(crs(['import', '-'], AWAY, many).stderr).toMatch(/line 1000: must be valid JSON\n\.\.\. and 2 more\.\n$/);
  });

  test('an empty file is fine', () => {
    const { status, stdout } = crs(['import', '-', '--json'], AWAY);
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toEqual({ lines: 0, accepted: 0, unchanged: 0, refused: 0, errors: [] });
  });
});

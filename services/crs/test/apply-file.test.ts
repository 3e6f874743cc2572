import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readTenants } from '../src/apply/file.ts';
import { toYaml } from '../src/apply/yaml.ts';

const dir = mkdtempSync(join(tmpdir(), 'crs-apply-'));
afterAll(() => rmSync(dir, { recursive: true }));
const path = join(dir, 'tenants.yaml');

const read = (text: string | Buffer) => {
  writeFileSync(path, text);
  return readTenants(path);
};
const values = async (text: string) => (await read(text)).map(({ json }) => JSON.parse(json.toString()) as unknown);
/** The error's message without the directory, so that it begins with the position. */
const problem = (text: string | Buffer) =>
  read(text).then(
    () => 'none',
    (error: Error) => error.message.replace(`${path}:`, ''),
  );

describe('a file of tenants', () => {
  it('is YAML or JSON, with the same values', async () => {
    const yaml = 'organizations:\n  - id: acme\n    write_surface: on\n    keys: [{ label: 0x, rights: [read] }]\n';
    const organization = { id: 'acme', write_surface: 'on', keys: [{ label: '0x', rights: ['read'] }] };
    expect(await values(yaml)).toEqual([organization]);
    expect(await values(JSON.stringify({ organizations: [organization] }, null, '\t'))).toEqual([organization]);
    expect(await values('\uFEFForganizations: []')).toEqual([]);
  });

  it('may name a file with the client secret, relative to itself', async () => {
    writeFileSync(join(dir, 'secret'), 'hush\n');
    const [entry] = await read('organizations: [{ id: a, oidc: { client_secret_file: secret } }]');
    expect(entry!.clientSecret).toBe('hush');
    writeFileSync(join(dir, 'empty'), '\n');
    expect(await problem('organizations: [{ id: a, oidc: { client_secret_file: empty } }]')).toMatch(
      /^1:54: .*client_secret_file: the file is empty/,
    );
    expect(await problem('organizations: [{ id: a, oidc: { client_secret_file: none } }]')).toMatch(/^1:54: .*\(ENOENT\)/);
  });

  it.each([
    ['', '1:1: must have a list'],
    ['- a', '1:1: must have a list "organizations"'],
    ['organizations: {}', '1:1: must have a list'],
    ['organizations: [a]', '1:17: organizations[0]: must be an object'],
    ['organizations: []\nmore: 1', '2:7: more: is not a known property'],
    ['organizations:\n  - name: x', '2:5: organizations[0].id: must be 1 to 40'],
    ['organizations:\n  - id: a\n  - id: Acme', '3:9: organizations[1].id: must be 1 to 40'],
    ['organizations: [{ id: a }, { id: a }]', '1:34: organizations[1].id: is in the file twice'],
    ['organizations: [{ id: a, id: b }]', '1:26: Map keys must be unique'],
    ['organizations: [{ id: a }', '1:26: '],
    ['organizations: [{ id: !!js/function x }]', '1:23: Unresolved tag'],
    ['organizations: []\n---\norganizations: []', '2:1: Source contains multiple documents'],
    ['organizations: [{ id: a, name: &n x, keys: [{ label: *n }] }]', '1:54: aliases are not allowed'],
    ['organizations: [{ id: a, <<: { name: x } }]', 'none'],
  ])('is refused with a position: %j', async (text, message) => {
    expect(await problem(text)).toContain(message);
  });

  it('has neither numbers that JSON lacks nor properties that change its prototype', async () => {
    const [value] = await values(
      'organizations: [{ id: a, delete_limit: .inf, name: .nan, __proto__: { write_surface: true } }]',
    );
    expect(value).toEqual({ id: 'a', delete_limit: '.inf', name: '.nan', ['__proto__']: { write_surface: true } });
    expect((value as { write_surface?: boolean }).write_surface).toBeUndefined();
  });

  it('is bounded', async () => {
    const bomb = [
      'a: &a [x, x]',
      ...Array.from({ length: 40 }, (_, i) => `b${i}: &b${i} [*${i ? `b${i - 1}` : 'a'}, *${i ? `b${i - 1}` : 'a'}]`),
    ];
    expect(await problem(bomb.join('\n'))).toContain('aliases are not allowed');
    expect(await problem(`organizations: ${'['.repeat(200_000)}`)).not.toBe('none');
    expect(await problem(Buffer.alloc(8 * 1024 * 1024 + 1, '#'))).toContain('must have at most');
    expect(await problem(Buffer.from([0x61, 0xff]))).toContain('must be valid UTF-8');
  });

  it('locates the fields that the service refuses', async () => {
    const [entry] = await read('organizations:\n  - id: a\n    keys:\n      - label: x\n        sha256: y\n');
    expect(entry!.locate('keys[0].sha256')).toBe(`${path}:5:17: organizations[0].keys[0].sha256`);
    expect(entry!.locate('keys[0].rights')).toBe(`${path}:4:9: organizations[0].keys[0].rights`);
    expect(entry!.locate('')).toBe(`${path}:2:5: organizations[0]`);
  });
});

it('printed YAML is read as the same values, by readers of YAML 1.1 too, and has no character that controls a terminal', async () => {
  const names = [
    'on',
    '1e3',
    '12:30',
    'a\nb\n',
    '\u001b[31m',
    '\u202e',
    ' x ',
    '#',
    'é',
    '~',
    '[',
    "it's",
    '"'.repeat(100),
    'w '.repeat(200),
  ];
  const organizations = names.map((name, i) => ({ id: `a${i}`, name, keys: [] }));
  const text = toYaml({ organizations });
  expect(await values(text)).toEqual(organizations);
  for (const control of ['\u001b', '\u202e']) expect(text).not.toContain(control);
  expect(text).toContain('name: "on"');
});

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCrs } from '@crs/testing/run-crs';
import { tenant } from '@crs/testing/world';
import { ANN, organization, sharedAuthWorld, user, type SharedAuthWorld } from './_fixtures.ts';

const [ACME, GLOBEX, LAST] = [tenant('acme'), tenant('globex'), tenant('last')];
const dir = mkdtempSync(join(tmpdir(), 'crs-apply-'));
afterAll(() => rmSync(dir, { recursive: true }));
const path = join(dir, 'tenants.yaml');

let world: SharedAuthWorld;
beforeAll(async () => {
  world = await sharedAuthWorld([ACME, GLOBEX].flatMap((id) => [organization(id), user(id, ANN)]));
  writeFileSync(join(dir, 'secret'), 'canary-of-a-secret\n');
});

const crs = (args: string[], input?: string) => runCrs(world, args, input);
const apply = (text: string, ...options: string[]) => {
  writeFileSync(path, text);
  return crs(['apply', '-f', path, ...options]);
};
const generate = async () => JSON.parse((await crs(['key', 'generate', '--json'])).stdout) as { key: string; sha256: string };

describe('crs apply', () => {
  it('plans, applies, and then finds nothing to do', async () => {
    const { key, sha256 } = await generate();
    const file = `
organizations:
  - id: ${ACME}
    delete_limit: 7
    oidc: { issuer: https://idp.example, client_id: c, client_secret_file: secret, domains: [${ACME}.example] }
    keys: [{ label: erp, sha256: ${sha256}, rights: [read] }]
    users: [{ email: ${ANN}, disabled: true }]
`;
    const plan = await apply(file, '--plan');
    expect(plan).toEqual({
      status: 3,
      stderr: '',
      stdout: `${ACME}
  ~ organization ${ACME}
      delete_limit: 1000 -> 7
      oidc_issuer: null -> "https://idp.example"
      oidc_client_id: null -> "c"
      oidc_domains: null -> ["${ACME}.example"]
      oidc_email_proof: null -> "claim"
      oidc_client_secret: (not shown)
  + key erp sha256:${sha256.slice(0, 8)}
      rights: ["read"]
      networks: []
  ~ user ${ANN}
      disabled: false -> true

1 to add, 2 to change, 0 to remove.
`,
    });
    expect(await apply(file, '--yes')).toEqual({ status: 0, stderr: '', stdout: `${plan.stdout}Applied.\n` });
    const done = await apply(file, '--plan', '--json');
    const same = { add: 0, change: 0, remove: 0, applied: false, organizations: [{ id: ACME, changes: [], notes: [] }] };
    expect(JSON.parse(done.stdout)).toEqual(same);
    expect(done.status).toBe(0);
    expect(await apply(file, '--yes')).toMatchObject({ status: 0, stdout: '0 to add, 0 to change, 0 to remove.\n' });
    expect((await world.auth.authenticateKey({ apiKey: key, audiences: ['calls'] })).rights).toEqual(['read']);
    const audit = await crs(['audit', '--org', ACME, '--json']);
    expect(plan.stdout + done.stdout + audit.stdout + world.log.join('')).not.toContain('canary-of-a-secret');
    expect(plan.stdout + audit.stdout).not.toContain(key);
  });

  it('plans drift, and mends it', async () => {
    const file = (await crs(['tenants', 'export', '--org', GLOBEX])).stdout;
    expect(await apply(file, '--plan')).toMatchObject({ status: 0 });
    await crs(['org', 'update', GLOBEX, '--rate-limit', '1/1', '--write-surface', 'on']);
    const drifted = await apply(file, '--plan', '--json');
    expect(drifted.status).toBe(3);
    expect((JSON.parse(drifted.stdout) as { organizations: unknown[] }).organizations).toEqual([
      {
        id: GLOBEX,
        notes: [],
        changes: [
          {
            action: 'change',
            type: 'organization',
            name: GLOBEX,
            settings: [
              { setting: 'write_surface', from: true, to: false },
              { setting: 'rate_limit', from: '1/1', to: '600/60' },
            ],
          },
        ],
      },
    ]);
    expect((await apply(file, '--yes')).status).toBe(0);
    expect((await crs(['tenants', 'export', '--org', GLOBEX])).stdout).toBe(file);
  });

  it('names file, position and field of what the service refuses, and then leaves all organizations as they were', async () => {
    const file = `organizations:
  - id: ${LAST}
    name: Never
  - id: ${GLOBEX}
    keys:
      - label: erp
        sha256: oops
`;
    for (const option of ['--plan', '--yes']) {
      const at = `${path}:7:17: organizations[1].keys[0].sha256`;
      const message = 'must be 64 hexadecimal digits, which `crs key generate` prints';
      expect(await apply(file, option)).toEqual({ status: 1, stdout: '', stderr: `error: ${at}: ${message}\n` });
    }
    expect(await crs(['org', 'show', LAST])).toMatchObject({ status: 1 });
    const json = await apply(file, '--plan', '--json');
    expect(JSON.parse(json.stderr)).toMatchObject({ error: { code: 'invalid_argument' } });
  });

  it('notes what waits, and where', async () => {
    const map = '{ group: g, project_id: 00000000-0000-4000-8000-0000000000ff, role: lead }';
    const waiting = await apply(`organizations: [{ id: ${GLOBEX}, group_maps: [${map}] }]`, '--plan');
    expect(waiting).toMatchObject({ status: 0, stdout: '0 to add, 0 to change, 0 to remove.\n' });
    expect(waiting.stderr).toMatch(/^note: \S+:1:\d+: organizations\[0\]\.group_maps\[0\]\.project_id: there is no project/);
  });

  it('needs --yes or --plan where nobody can answer a prompt', async () => {
    expect(await apply('organizations: []')).toMatchObject({ status: 2, stdout: '' });
    expect(await crs(['apply', '-f', '-', '--json'], 'organizations: []')).toMatchObject({ status: 2, stdout: '' });
    expect(await crs(['apply', '-f', '-', '--plan'], 'organizations: []')).toMatchObject({ status: 0 });
    expect(await crs(['apply', '--plan'])).toMatchObject({ status: 2 });
    expect(await crs(['apply', '-f', join(dir, 'none'), '--plan'])).toMatchObject({ status: 1, stdout: '' });
  });

  it('prints the JSON Schema', async () => {
    const { status, stdout } = await crs(['apply', '--schema']);
    expect({ status, title: (JSON.parse(stdout) as { title: string }).title }).toEqual({
      status: 0,
      title: 'Organizations for crs apply',
    });
  });
});

it('crs tenants export lists what the operator may see, without users and secrets', async () => {
  const name = `exports ${GLOBEX}`;
  const operator = await crs(['operator', 'create', name, '--role', 'viewer', '--org', GLOBEX, '--json']);
  const { credential } = JSON.parse(operator.stdout) as { credential: string };
  const bound = await runCrs(world, ['tenants', 'export', '--json'], '', { CRS_OPERATOR_CREDENTIAL: credential });
  expect((JSON.parse(bound.stdout) as { organizations: { id: string }[] }).organizations.map(({ id }) => id)).toEqual([GLOBEX]);
  const all = await crs(['tenants', 'export']);
  expect(all.stdout).toContain(`- id: ${ACME}\n`);
  expect(all.stdout).toContain(`- id: ${GLOBEX}\n`);
  expect(all.stdout).not.toMatch(/client_secret|canary|users:|example\.com/);
});

import { runCrs } from '@crs/testing/run-crs';
import { sharedWorld, tenant, type World } from '@crs/testing/world';
import { beforeAll, describe, expect, it } from 'vitest';

const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];
const PROJECT = '11111111-2222-4333-8444-555555555555';

let world: World;
beforeAll(async () => {
  world = await sharedWorld();
  for (const organization of [ACME, GLOBEX]) {
    await world.load([
      { type: 'organization', id: organization },
      { type: 'user', organization, email: 'ann@crs.example' },
      { type: 'project', organization, id: PROJECT },
      ...['a', 'b'].map((id) => ({ type: 'call', organization, id, project_id: PROJECT, conducted_by: 'ann@crs.example' })),
    ]);
  }
});

const crs = (args: string[], input?: string) => runCrs(world, [...args, '--json'], input);
const json = async (args: string[], input?: string) => {
  const { stdout, stderr, status } = await crs(args, input);
  expect([status, stderr]).toEqual([0, '']);
  return JSON.parse(stdout);
};
const LABEL = ['--label', 'SEC 26-14'];

describe('crs hold', () => {
  it('creates, lists and releases holds of one organization, and audits that', async () => {
    const { hold_id: ofProject } = await json(['hold', 'create', '--org', ACME, ...LABEL, '--project', PROJECT]);
    const { hold_id: ofCalls } = await json(['hold', 'create', '--org', ACME, ...LABEL, '--calls', '-'], 'a\r\n\nb\n');
    const { data } = await json(['hold', 'list', '--org', ACME]);
    const shared = { label: 'SEC 26-14', created_at: expect.any(String), created_by: expect.any(String) };
    expect(data).toEqual([
      { hold_id: ofProject, ...shared, project_id: PROJECT, calls: null },
      { hold_id: ofCalls, ...shared, project_id: null, calls: 2 },
    ]);
    expect(await json(['hold', 'list', '--org', GLOBEX])).toEqual({ data: [] });
    for (const id of [ofProject, ofCalls])
      expect(await json(['hold', 'release', id, '--org', ACME])).toEqual({ hold_id: id, released: true });
    expect((await crs(['hold', 'release', ofCalls, '--org', ACME])).status).toBe(1);
    const entries = (await json(['audit', '--org', ACME])).data.filter(({ action }: { action: string }) =>
      action.startsWith('hold.'),
    );
    expect(entries.map(({ action, target, outcome }: Record<string, string>) => [action, target, outcome])).toEqual(
      expect.arrayContaining([
        ['hold.create', `${ofCalls} 2 calls SEC 26-14`, expect.anything()],
        ['hold.create', `${ofProject} ${PROJECT} SEC 26-14`, expect.anything()],
        ['hold.release', ofProject, expect.anything()],
      ]),
    );
  });

  it.each([
    [2, 'give --project or --calls', []],
    [2, 'give --project or --calls', ['--project', PROJECT, '--calls', '-']],
    [1, "Line 2 isn't the id of a call.", ['--calls', '-']],
  ])('refuses a creation with exit code %d: %s', async (code, message, kept) => {
    const { status, stderr } = await crs(['hold', 'create', '--org', ACME, ...LABEL, ...kept], 'a\nnot an id\n');
    expect([status, stderr]).toEqual([code, expect.stringContaining(message)]);
  });
});

describe('a hold', () => {
  it('makes each command that would delete what it keeps fail with its id', async () => {
    const { hold_id: holdId } = await json(['hold', 'create', '--org', ACME, ...LABEL, '--calls', '-'], 'a\n');
    const deletions = [
      { type: 'call', id: 'a' },
      { type: 'project', id: PROJECT },
      { type: 'user', email: 'ann@crs.example' },
    ];
    const lines = deletions.map((line) => `${JSON.stringify({ ...line, organization: ACME, deleted: true })}\n`).join('');
    for (const check of [['--check'], []]) {
      const { status, stdout } = await crs(['import', '-', ...check], lines);
      const { refused, errors } = JSON.parse(stdout);
      expect([status, refused]).toEqual([1, 3]);
      for (const { reason } of errors) expect(reason).toContain(holdId);
    }
    for (const command of [
      ['user', 'delete', '--org', ACME, '--user', 'ann@crs.example', '--yes'],
      ['org', 'delete', ACME, '--yes'],
    ]) {
      const { status, stderr } = await crs(command);
      expect([status, JSON.parse(stderr).error.message]).toEqual([1, expect.stringContaining(holdId)]);
    }
    expect((await crs(['user', 'delete', '--org', GLOBEX, '--user', 'ann@crs.example', '--yes'])).status).toBe(0);
    await json(['hold', 'release', holdId, '--org', ACME]);
    expect((await crs(['org', 'delete', ACME, '--yes'])).status).toBe(0);
  });
});

import { runCrs } from '@crs/testing/run-crs';
import { OPERATOR_CREDENTIAL } from '@crs/testing/setup';
import { sharedWorld, tenant, type World } from '@crs/testing/world';
import { beforeAll, describe, expect, test } from 'vitest';

const [acme, globex] = [tenant('acme'), tenant('globex')];
let world: World;
beforeAll(async () => {
  world = await sharedWorld();
  await world.load([acme, globex].map((id) => ({ type: 'organization', id, name: id })));
});

describe('the option --operator', () => {
  const list = (args: string[], input: string) => runCrs(world, args, input, { CRS_OPERATOR_CREDENTIAL: 'cro_unknown' });

  test.each([
    ['before the command', ['--operator', '-', 'org', 'show', acme]],
    ['after the command', ['org', 'show', acme, '--operator', '-']],
  ])('replaces the configured credential, %s', async (_, args) => {
    expect(await list(['org', 'show', acme], '')).toMatchObject({ status: 1 });
    expect(await list(args, `${OPERATOR_CREDENTIAL}\r\n`)).toMatchObject({ status: 0, stderr: '' });
  });

  test('takes only the first line of standard input, and leaves the others to the command', async () => {
    const user = (organization: string) => JSON.stringify({ type: 'user', organization, email: 'ann@one.example', name: 'Ann' });
    const input = `${OPERATOR_CREDENTIAL}\n${user(acme)}\n${user(globex)}\n`;
    const imported = await list(['--operator', '-', 'import', '-', '--json'], input);
    expect(JSON.parse(imported.stdout)).toMatchObject({ lines: 2, accepted: 2 });
    const password = 'cheerful battery horse staple';
    const set = ['user', 'set-password', '--org', acme, '--user', 'ann@one.example', '--password-stdin'];
    expect(await list(['--operator', '-', ...set], `${OPERATOR_CREDENTIAL}\n${password}\n`)).toMatchObject({ status: 0 });
  });

  test.each([
    ['nothing', '', 'There is no operator credential on the first line of standard input.'],
    ['a damaged file', '{"credential":"cro_secret', 'The first line of standard input is not valid.'],
    ['a line without end', 'x'.repeat(100_000), 'The first line of standard input is too long.'],
  ])('refuses %s, without quoting it', async (_, input, message) => {
    expect(await list(['--operator', '-', 'org', 'list'], input)).toEqual({
      status: 1,
      stdout: '',
      stderr: `error: ${message}\n`,
    });
  });
});

test('crs operator new-credential prints the file of a first operator, without an installation', async () => {
  const file = async () => JSON.parse((await runCrs(world, ['operator', 'new-credential', 'first', '--json'])).stdout) as object;
  expect(await file()).toEqual({ name: 'first', credential: expect.stringMatching(/^cro_[\w-]{43}$/) });
  expect(await file()).not.toEqual(await file());
});

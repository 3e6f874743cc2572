import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { confirm } from '../src/prompt.ts';

/** A terminal at which someone has typed an answer, or ended the input if it is undefined. */
function terminal(answer: string | undefined, isTTY = { input: true, output: true }) {
  const input = Object.assign(new PassThrough(), { isTTY: isTTY.input });
  const output = Object.assign(new PassThrough(), { isTTY: isTTY.output });
  if (answer === undefined) input.end();
  else input.write(`${answer}\n`);
  const printed = async () => {
    output.end();
    return text(output);
  };
  return { input, output, printed };
}

const ACTION = 'This revokes the key k1';

test.each(['y', 'Y', 'yes', ' YES '])('a command continues after the answer %j', async (answer) => {
  const session = terminal(answer);
  await confirm(ACTION, {}, session);
  expect(await session.printed()).toContain("This revokes the key k1. This can't be undone. Continue? [y/N] ");
});

test.each(['', 'n', 'no', 'yesterday', undefined])('a command stops after the answer %j', async (answer) => {
  await expect(confirm(ACTION, {}, terminal(answer))).rejects.toMatchObject({
    code: 'canceled',
    message: 'Nothing was changed, because the answer was not yes.',
  });
});

test('a command with --yes does not prompt', async () => {
  const session = terminal('n');
  await confirm(ACTION, { yes: true }, session);
  expect(await session.printed()).toBe('');
});

test.each([
  { input: false, output: true },
  { input: true, output: false },
])('a command does not prompt if its input or output is not a terminal: %j', async (isTTY) => {
  const session = terminal('n', isTTY);
  await confirm(ACTION, {}, session);
  expect(await session.printed()).toBe('');
});

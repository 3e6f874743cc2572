import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { confirm } from '../src/prompt.ts';

/** A terminal at which a person has typed an answer; undefined: the person ended the input. */
function terminal(answer: string | undefined, isTTY = { input: true, output: true }) {
  const input = Object.assign(new PassThrough(), { isTTY: isTTY.input });
  const output = Object.assign(new PassThrough(), { isTTY: isTTY.output });
  if (answer === undefined) input.end();
  else input.write(`${answer}\n`);
  const shown = async () => {
    output.end();
    return text(output);
  };
  return { input, output, shown };
}

const DEED = 'This revokes the key k1';

test.each(['y', 'Y', 'yes', ' YES '])('goes on after %j', async (answer) => {
  const asked = terminal(answer);
  await confirm(DEED, {}, asked);
  expect(await asked.shown()).toContain("This revokes the key k1. This can't be undone. Continue? [y/N] ");
});

test.each(['', 'n', 'no', 'yesterday', undefined])('stops after %j', async (answer) => {
  await expect(confirm(DEED, {}, terminal(answer))).rejects.toMatchObject({
    code: 'canceled',
    message: 'Nothing was changed, because the answer was not yes.',
  });
});

test('does not ask after --yes', async () => {
  const asked = terminal('n');
  await confirm(DEED, { yes: true }, asked);
  expect(await asked.shown()).toBe('');
});

test.each([
  { input: false, output: true },
  { input: true, output: false },
])('does not ask a program: %j', async (isTTY) => {
  const asked = terminal('n', isTTY);
  await confirm(DEED, {}, asked);
  expect(await asked.shown()).toBe('');
});

import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import { Option, type Command } from 'commander';
import { Failure } from './failure.ts';

/** Options of a command that can't be undone. */
export interface ConsentOptions {
  yes?: true;
}

interface Terminal {
  input: NodeJS.ReadableStream & { isTTY?: boolean };
  output: NodeJS.WritableStream & { isTTY?: boolean };
}

/** Adds the option that skips the prompt. */
export function withConsent(command: Command): Command {
  return command.addOption(new Option('--yes', 'do not ask; without a terminal, no question is asked'));
}

/**
 * Prompts for confirmation of an action that can't be undone. Only at a terminal and without `--yes`, because a program can't answer.
 * @param deed what is about to happen, such as `This revokes the key k1`
 * @throws Failure unless the answer is yes
 */
export async function confirm(
  deed: string,
  { yes }: ConsentOptions,
  // Not standard output, which may go to a file.
  { input, output }: Terminal = { input: process.stdin, output: process.stderr },
): Promise<void> {
  if (yes || !isTerminal({ input, output })) return;
  const dialog = createInterface({ input, output, terminal: false });
  try {
    // The end of input counts as no.
    const answer = await Promise.race([dialog.question(`${deed}. This can't be undone. Continue? [y/N] `), closed(dialog)]);
    if (!/^\s*y(es)?\s*$/i.test(answer)) throw new Failure('canceled', 'Nothing was changed, because the answer was not yes.');
  } finally {
    dialog.close();
  }
}

/** Whether a person can answer a prompt. */
export function isTerminal({ input, output }: Terminal = { input: process.stdin, output: process.stderr }): boolean {
  return input.isTTY === true && output.isTTY === true;
}

async function closed(dialog: NodeJS.EventEmitter): Promise<string> {
  await once(dialog, 'close');
  return '';
}

/** Reads a secret from the first line of standard input, so that no process list and no shell history shows it. @param option its option, for the error */
export async function readSecret(what: string, option: string): Promise<string> {
  for await (const line of createInterface({ input: process.stdin })) {
    // Otherwise the program would wait for the end of a pipe.
    process.stdin.destroy();
    if (line !== '') return line;
    break;
  }
  throw new Failure('invalid_argument', `There is no ${what} on standard input: send it as one line, or leave ${option} out.`);
}

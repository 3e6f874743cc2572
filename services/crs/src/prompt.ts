import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import type { Readable } from 'node:stream';
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
  return command.addOption(new Option('--yes', 'skip the prompt; without a terminal, there is no prompt'));
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
  const line = await readLine(process.stdin);
  // Otherwise the program would wait for the end of a pipe.
  process.stdin.destroy();
  if (line !== '') return line;
  throw new Failure('invalid_argument', `There is no ${what} on standard input: send it as one line, or leave ${option} out.`);
}

const MAX_LINE_BYTES = 65_536;

/** Reads the first line of a stream, without its end. What follows stays in the stream: standard input may hold a credential, then records. */
export async function readLine(stream: Readable): Promise<string> {
  let text = Buffer.alloc(0);
  for await (const chunk of stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    text = Buffer.concat([text, chunk]);
    const end = text.indexOf('\n');
    if (end >= 0) {
      if (end + 1 < text.length) stream.unshift(text.subarray(end + 1));
      text = text.subarray(0, end);
      break;
    }
    if (text.length > MAX_LINE_BYTES) throw new Failure('invalid_argument', 'The first line of standard input is too long.');
  }
  // Otherwise a pipe that stays open would keep the process running.
  stream.pause();
  return text.toString().replace(/\r$/, '');
}

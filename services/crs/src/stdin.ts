import { createInterface } from 'node:readline';
import { Failure } from './failure.ts';

/** Reads a secret from the first line of standard input, where no process list and no shell history shows it. @param option the option that asks for it */
export async function readSecret(what: string, option: string): Promise<string> {
  for await (const line of createInterface({ input: process.stdin })) {
    // Otherwise the program would wait until the other end of a pipe is closed.
    process.stdin.destroy();
    if (line !== '') return line;
    break;
  }
  throw new Failure('invalid_argument', `There is no ${what} on standard input: send it as one line, or leave ${option} out.`);
}

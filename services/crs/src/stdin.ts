import { createInterface } from 'node:readline';
import { Failure } from './failure.ts';

/** The first line of standard input, so that no process list and no shell history shows it. @param option that asked for it */
export async function readSecret(what: string, option: string): Promise<string> {
  for await (const line of createInterface({ input: process.stdin })) {
    // Else the program would wait until the other end of a pipe is closed.
    process.stdin.destroy();
    if (line !== '') return line;
    break;
  }
  throw new Failure('invalid_argument', `There is no ${what} on standard input: send it as one line, or leave ${option} out.`);
}

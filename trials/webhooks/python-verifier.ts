/** Verifies messages by the Python package standardwebhooks, in a process of its own. */
import { spawn, type ChildProcess } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('./verify.py', import.meta.url));

export class PythonVerifier {
  readonly #child: ChildProcess;
  readonly #output: Promise<string>;

  /** @param python path of a Python that has the package */
  constructor(python: string) {
    this.#child = spawn(python, [PROGRAM], { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#output = text(this.#child.stdout!);
  }

  verify(secret: string, body: string, headers: Record<string, string>): void {
    this.#child.stdin!.write(`${JSON.stringify({ secret, body, headers })}\n`);
  }

  /** @returns the number of valid messages, and a sentence for each other one */
  async finish(): Promise<{ verified: number; faults: string[] }> {
    this.#child.stdin!.end();
    return JSON.parse(await this.#output) as { verified: number; faults: string[] };
  }
}

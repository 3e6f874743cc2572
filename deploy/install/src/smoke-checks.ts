import { request, type IncomingHttpHeaders } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import { text } from 'node:stream/consumers';

const TIMEOUT_MS = 20_000;

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  /** The parsed JSON object; any other body is `{ text }`. */
  body: Record<string, unknown>;
}

/** Sends requests to an HTTP origin. @param host replaces the `Host` header @throws without an answer within 20 s */
export function requester(origin: string, host?: string) {
  return async (method: string, path: string, headers: Record<string, string> = {}, body?: object): Promise<Answer> => {
    const content = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const answer = await new Promise<Answer>((resolve, reject) => {
      request(`${origin}${path}`, { method, signal, headers: { ...content, ...(host && { host }), ...headers } }, (response) => {
        text(response).then(
          (raw) => resolve({ status: response.statusCode!, headers: response.headers, body: parse(raw) }),
          reject,
        );
      })
        .on('error', reject)
        .end(body && JSON.stringify(body));
    });
    return answer;
  };
}

/** Parses JSON, also from a server-sent event. */
function parse(raw: string): Record<string, unknown> {
  const json = raw.startsWith('{') ? raw : (/^data: ?(\{.*\})$/m.exec(raw)?.[1] ?? '');
  try {
    return JSON.parse(json) as Record<string, unknown>;
  } catch {
    return { text: raw };
  }
}

/** @throws if the two differ */
export function expect(actual: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(actual, expected)) throw new Error(`${JSON.stringify(actual)} instead of ${JSON.stringify(expected)}`);
}

/** Runs checks in turn, and prints a line for each. A failed check doesn't stop the others. */
export class Checks {
  #passed = 0;
  #failed = 0;

  /** @returns whether it passed */
  readonly check = async (name: string, run: () => Promise<void>): Promise<boolean> => {
    try {
      await run();
      this.#passed += 1;
      process.stdout.write(`ok    ${name}\n`);
      return true;
    } catch (error) {
      this.#failed += 1;
      process.stdout.write(`FAIL  ${name}: ${(error as Error).message}\n`);
      return false;
    }
  };

  /** Prints the counts. The process fails if a check failed. */
  finish(): void {
    process.stdout.write(`${this.#passed} passed, ${this.#failed} failed\n`);
    if (this.#failed > 0) process.exitCode = 1;
  }
}

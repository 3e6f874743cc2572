import type { ServerDuplexStream } from '@grpc/grpc-js';
import type { ServiceError } from '../errors.ts';
import type { Answering, Asking } from './line.ts';
import { encodeStatus } from './wire-errors.ts';

/** A call, however it came. */
export interface Incoming {
  body: unknown;
  /** W3C trace context. */
  carrier: unknown;
  token: string | undefined;
  /** Epoch milliseconds. */
  deadline: number;
  /** Told when the caller is gone. */
  cancelled: Set<() => void>;
}

export type Outcome = { error: ServiceError } | { error?: undefined; response: unknown };

/** The answering end of a line. */
export class LineServer {
  readonly #stream: ServerDuplexStream<Asking, Answering>;
  readonly #serve: (call: Incoming) => Promise<Outcome>;
  /** By the id of a question: the functions that end its work if it is cancelled. */
  readonly #answering = new Map<number, Set<() => void>>();
  #isEnding = false;

  constructor(stream: ServerDuplexStream<Asking, Answering>, serve: (call: Incoming) => Promise<Outcome>) {
    this.#stream = stream;
    this.#serve = serve;
    stream.on('data', (message: Asking) => void this.#answer(message));
    stream.on('end', () => this.finish());
    stream.on('cancelled', () => this.#answering.forEach((cancelled) => cancelled.forEach((abort) => abort())));
  }

  /** Begins no question more, answers the others, and then ends the line. */
  finish(): void {
    this.#isEnding = true;
    this.#endIfDone();
  }

  async #answer({ question, body }: Asking): Promise<void> {
    // Nobody waits for the answer to a message that isn't a question.
    if (!question) return;
    const { id, token, traceparent, timeoutMs } = question;
    if (question.cancelled) {
      this.#answering.get(id)?.forEach((abort) => abort());
      return;
    }
    if (this.#isEnding) return;
    const cancelled = new Set<() => void>();
    this.#answering.set(id, cancelled);
    const outcome = await this.#serve({
      body,
      carrier: { traceparent },
      token: token === '' ? undefined : token,
      deadline: Date.now() + timeoutMs,
      cancelled,
    });
    this.#answering.delete(id);
    if (this.#stream.cancelled) return;
    if (outcome.error) this.#stream.write({ answer: { id, error: encodeStatus(outcome.error) } });
    else this.#stream.write({ answer: { id, error: undefined }, body: outcome.response });
    this.#endIfDone();
  }

  #endIfDone(): void {
    if (this.#isEnding && this.#answering.size === 0) this.#stream.end();
  }
}

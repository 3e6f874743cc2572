import { Metadata, status, type Client, type ClientDuplexStream, type StatusObject } from '@grpc/grpc-js';
import type { Question } from '@crs/proto/crs/lines/v1/lines';
import { ServiceError, unavailable } from '../errors.ts';
import { Late } from '../process/patience.ts';
import type { Answering, Asking, LineDefinition } from './line.ts';
import { decodeError, decodeStatus, notOffered, tookTooLong } from './wire-errors.ts';

/** New lines go to the replicas in turn, so that each gets its part. */
const LINE_AGE_MS = 10_000;

/** A question without its id and its time. */
export interface Asked extends Pick<Question, 'token' | 'traceparent'> {
  body: unknown;
  /** Epoch milliseconds. */
  deadline: number;
  signal: AbortSignal | undefined;
}

/** The asking end of a line. It opens a stream at the first question, and a new one when that is lost, late or old. */
export class LineClient {
  readonly #method: LineDefinition;
  readonly #target: string;
  #stream: Stream | undefined;

  /** @param target the service's name in error texts */
  constructor(method: LineDefinition, target: string) {
    this.#method = method;
    this.#target = target;
  }

  /** @throws ServiceError `notOffered` if the service didn't begin to answer; the signal's reason where it was aborted */
  ask(by: Client, asked: Asked): Promise<unknown> {
    if (!this.#stream?.isOpenedBy(by)) {
      this.#stream?.retire();
      this.#stream = new Stream(this.#method, this.#target, by);
    }
    return this.#stream.ask(asked);
  }

  close(): void {
    this.#stream?.retire();
  }
}

interface Waiting {
  resolve: (body: unknown) => void;
  reject: (reason: unknown) => void;
}

class Stream {
  readonly #target: string;
  readonly #by: Client;
  readonly #stream: ClientDuplexStream<Asking, Answering>;
  readonly #waiting = new Map<number, Waiting>();
  readonly #age: NodeJS.Timeout;
  #isOpen = true;
  #lastId = 0;

  constructor({ path, requestSerialize, responseDeserialize }: LineDefinition, target: string, by: Client) {
    this.#target = target;
    this.#by = by;
    this.#stream = by.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, new Metadata());
    this.#stream.on('data', (message: Answering) => this.#settle(message));
    // The status follows it.
    this.#stream.on('error', () => {});
    this.#stream.on('status', (end) => this.#end(end));
    this.#age = setTimeout(() => this.retire(), LINE_AGE_MS).unref();
  }

  isOpenedBy(by: Client): boolean {
    return this.#isOpen && this.#by === by;
  }

  async ask({ token, traceparent, body, deadline, signal }: Asked): Promise<unknown> {
    const id = ++this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#waiting.set(id, { resolve, reject });
    const timeoutMs = Math.max(1, deadline - Date.now());
    const timer = setTimeout(() => {
      reject(tookTooLong(this.#target));
      this.#abandon();
    }, timeoutMs);
    const stop = () => {
      reject(signal!.reason);
      // A service that only paused must not do what nobody waits for.
      if (signal!.reason instanceof Late) this.#abandon();
    };
    signal?.addEventListener('abort', stop, { once: true });
    this.#stream.write({ question: { id, token, traceparent, timeoutMs }, body });
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', stop);
      this.#waiting.delete(id);
    }
  }

  /** Asks nothing more on this stream. What was asked is still answered. */
  retire(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    clearTimeout(this.#age);
    this.#stream.end();
  }

  #abandon(): void {
    this.retire();
    this.#stream.cancel();
  }

  #settle({ answer, body }: Answering): void {
    if (!answer) return;
    const waiting = this.#waiting.get(answer.id);
    if (answer.error) waiting?.reject(decodeStatus(answer.error, this.#target));
    else waiting?.resolve(body);
  }

  #end(end: StatusObject): void {
    this.retire();
    for (const { reject } of this.#waiting.values()) reject(this.#errorOf(end));
  }

  #errorOf(end: StatusObject): ServiceError {
    // A service that stops ends its lines. It has answered all that it began.
    if (end.code === status.OK) return notOffered(this.#target);
    if (end.code === status.CANCELLED) return unavailable(`The ${this.#target} service is not available.`, end);
    return decodeError(end, this.#target);
  }
}

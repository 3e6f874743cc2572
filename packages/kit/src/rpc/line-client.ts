import {
  Metadata,
  status,
  type Client,
  type ClientDuplexStream,
  type ServiceError as GrpcFailure,
  type StatusObject,
} from '@grpc/grpc-js';
import type { Question } from '@crs/proto/crs/lines/v1/lines';
import type { ServiceError } from '../errors.ts';
import { Late } from '../process/patience.ts';
import type { Answering, Asking, LineDefinition } from './line.ts';
import { decodeError, decodeStatus, notAvailable, notBegun, tookTooLong } from './wire-errors.ts';

/** New lines go to the replicas in turn, so that each gets its part. */
const LINE_AGE_MS = 10_000;

/** A question without its id and its time. */
export interface Asked extends Pick<Question, 'token' | 'traceparent'> {
  body: unknown;
  /** Epoch milliseconds. */
  deadline: number;
  signal: AbortSignal | undefined;
}

/** The asking end of the lines to a service. It opens a line when it has a question for it, and a new one when that is lost, silent or old. */
export class LineClient {
  readonly #method: LineDefinition;
  readonly #target: string;
  readonly #lines: (Line | undefined)[];
  #turn = 0;

  /**
   * @param target the service's name in error texts
   * @param lines how many are open at once
   */
  constructor(method: LineDefinition, target: string, lines: number) {
    this.#method = method;
    this.#target = target;
    this.#lines = Array.from({ length: lines }, () => undefined);
  }

  /** @throws ServiceError `notBegun` if the service didn't begin to answer; the signal's reason where it was aborted */
  ask(by: Client, asked: Asked): Promise<unknown> {
    const place = this.#choose(by);
    let line = this.#lines[place];
    if (!line?.isOpenedBy(by)) {
      line?.retire();
      line = this.#lines[place] = new Line(this.#method, this.#target, by);
    }
    return line.ask(asked);
  }

  close(): void {
    for (const line of this.#lines) line?.retire();
  }

  /** The line with the fewest questions; of several, each in its turn. */
  #choose(by: Client): number {
    const questions = (place: number) => (this.#lines[place]?.isOpenedBy(by) ? this.#lines[place].questions : 0);
    const { length } = this.#lines;
    this.#turn = (this.#turn + 1) % length;
    let best = this.#turn;
    for (let i = 1; i < length && questions(best) > 0; i++) {
      const place = (this.#turn + i) % length;
      if (questions(place) < questions(best)) best = place;
    }
    return best;
  }
}

interface Waiting {
  resolve: (body: unknown) => void;
  reject: (reason: unknown) => void;
}

class Line {
  readonly #target: string;
  readonly #by: Client;
  readonly #stream: ClientDuplexStream<Asking, Answering>;
  readonly #waiting = new Map<number, Waiting>();
  readonly #age: NodeJS.Timeout;
  #isOpen = true;
  #lastId = 0;
  /** How many messages have come. */
  #heard = 0;

  constructor({ path, requestSerialize, responseDeserialize }: LineDefinition, target: string, by: Client) {
    this.#target = target;
    this.#by = by;
    this.#stream = by.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, new Metadata());
    this.#stream.on('data', (message: Answering) => this.#settle(message));
    // Of an end that isn't OK, both come, and the error says more.
    this.#stream.on('error', (end: GrpcFailure) => this.#end(end));
    this.#stream.on('status', (end) => this.#end(end));
    this.#age = setTimeout(() => this.retire(), LINE_AGE_MS).unref();
  }

  isOpenedBy(by: Client): boolean {
    return this.#isOpen && this.#by === by;
  }

  /** How many questions wait for their answers. */
  get questions(): number {
    return this.#waiting.size;
  }

  async ask({ token, traceparent, body, deadline, signal }: Asked): Promise<unknown> {
    const id = ++this.#lastId;
    const heard = this.#heard;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#waiting.set(id, { resolve, reject });
    const timeoutMs = Math.max(1, deadline - Date.now());
    const timer = setTimeout(() => {
      reject(tookTooLong(this.#target));
      this.#giveUp(id, heard);
    }, timeoutMs);
    const stop = () => {
      reject(signal!.reason);
      if (signal!.reason instanceof Late) this.#giveUp(id, heard);
      else this.#cancel(id);
    };
    signal?.addEventListener('abort', stop, { once: true });
    this.#stream.write({ question: { id, token, traceparent, timeoutMs, cancelled: false }, body });
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', stop);
      this.#waiting.delete(id);
      this.#endIfDone();
    }
  }

  /** Asks nothing more on this line. What was asked is still answered, or cancelled. */
  retire(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    clearTimeout(this.#age);
    this.#endIfDone();
  }

  #endIfDone(): void {
    if (!this.#isOpen && this.#waiting.size === 0) this.#stream.end();
  }

  /** Ends a question that got no answer in time. If the line was silent meanwhile, its service may only pause, and must not do later what nobody waits for. */
  #giveUp(id: number, heard: number): void {
    if (this.#heard > heard) this.#cancel(id);
    else {
      this.retire();
      this.#stream.cancel();
    }
  }

  #cancel(id: number): void {
    if (this.#stream.writable)
      this.#stream.write({ question: { id, token: '', traceparent: '', timeoutMs: 0, cancelled: true } });
  }

  #settle({ answer, body }: Answering): void {
    this.#heard++;
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
    if (end.code === status.OK) return notBegun(this.#target);
    if (end.code === status.CANCELLED) return notAvailable(this.#target, end);
    return decodeError(end, this.#target);
  }
}

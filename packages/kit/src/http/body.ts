import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Counter } from '@opentelemetry/api';
import { overloaded } from '../errors.ts';
import { meter } from '../process/telemetry.ts';
import { Attached } from './attached.ts';
import { Refusal } from './refusal.ts';

/** How long a body may take to arrive. */
export const ARRIVAL_MS = 5_000;
const tooSlow = new Refusal(408, 'bad_request', `The body did not arrive within ${ARRIVAL_MS / 1000} s.`);
const notWhole = new Refusal(400, 'bad_request', 'The body did not arrive whole.');
const compressed = new Refusal(415, 'bad_request', 'The body must not be compressed: leave Content-Encoding out.');

export interface BodyLimits {
  /** Of one body. */
  maxBytes: number;
  /** Bodies of one client address that are arriving at once. */
  perAddress: number;
  /** Bodies of all addresses that are arriving at once. */
  total: number;
}

/** The limits of bodies of at most 64 KiB: all that are arriving take at most 64 MiB. */
export const SMALL_BODIES: BodyLimits = { maxBytes: 64 * 1024, perAddress: 128, total: 1_024 };

/**
 * A reader of whole bodies. The caller takes nothing scarce, such as a slot, before its body is there. A body that is too large is
 * refused (413), by its `Content-Length` before any of it is read, and so is a body that is compressed (415), cut off (400) or not there
 * after 5 s (408). A new body is always read: where there are too many, the body that has been arriving for the longest time is given up
 * (503), so that clients which send slowly can't keep out other clients. A second call for the same request returns the same promise.
 */
export function bodyReader(
  limits: BodyLimits,
): (request: IncomingMessage, response: ServerResponse, address: string) => Promise<Buffer> {
  const { maxBytes } = limits;
  const tooLarge = new Refusal(413, 'bad_request', `The body is larger than ${maxBytes} bytes.`);
  const arrivals = new Arrivals(limits);
  const bodies = new Attached<IncomingMessage, Promise<Buffer>>();
  const read = async (request: IncomingMessage, response: ServerResponse, address: string) => {
    const { 'content-encoding': encoding = 'identity', 'content-length': length = '0' } = request.headers;
    if (encoding.toLowerCase() !== 'identity') throw compressed;
    if (Number(length) > maxBytes) throw tooLarge;
    if (broken.has(request)) throw notWhole;
    const arrived = Promise.withResolvers<Buffer>();
    const leave = request.complete
      ? undefined
      : arrivals.enter(address, (refusal) => {
          // The rest of the body may still come on this connection.
          response.shouldKeepAlive = false;
          arrived.reject(refusal);
        });
    const breakOff = () => arrived.reject(notWhole);
    request.once(BROKEN, breakOff).once('error', breakOff);
    collect(request, maxBytes, arrived.resolve, () => arrived.reject(tooLarge));
    return arrived.promise.finally(leave);
  };
  return (request, response, address) => {
    const known = bodies.get(request);
    if (known) return known;
    const body = read(request, response, address);
    bodies.set(request, body);
    return body;
  };
}

/** Collects a body. What comes of a body beyond `maxBytes` is discarded. */
function collect(request: IncomingMessage, maxBytes: number, whole: (body: Buffer) => void, tooLarge: () => void): void {
  const chunks: Buffer[] = [];
  let length = 0;
  request.on('data', (chunk: Buffer) => {
    length += chunk.length;
    if (length <= maxBytes) chunks.push(chunk);
    else {
      chunks.length = 0;
      tooLarge();
    }
  });
  request.once('end', () => whole(Buffer.concat(chunks)));
}

const broken = new WeakSet<IncomingMessage>();
const BROKEN = Symbol('the body is broken');

/** Has the reader of a request's body refuse the body, because Node can't read the rest of it. */
export function breakBody(request: IncomingMessage): void {
  broken.add(request);
  request.emit(BROKEN);
}

type GiveUp = (refusal: Error) => void;

/** Bodies that are arriving, by address. */
class Arrivals {
  readonly #limits: BodyLimits;
  /** Made at its first use: readers of bodies are made before telemetry starts. */
  #givenUp: Counter | undefined;
  /** Each set is in order of arrival. */
  readonly #arriving = new Map<string, Set<GiveUp>>();
  #total = 0;

  constructor(limits: BodyLimits) {
    this.#limits = limits;
  }

  /** @param reject is called where the body is given up @returns a function for the end of the body */
  enter(address: string, reject: GiveUp): () => void {
    const { perAddress, total } = this.#limits;
    const timer = setTimeout(() => giveUp(tooSlow), ARRIVAL_MS);
    const leave = () => {
      clearTimeout(timer);
      const own = this.#arriving.get(address);
      if (!own?.delete(giveUp)) return;
      this.#total--;
      if (own.size === 0) this.#arriving.delete(address);
    };
    const giveUp: GiveUp = (refusal) => {
      leave();
      this.#givenUp ??= meter('kit').createCounter('crs.body.given_up', { description: 'Bodies that were not waited for.' });
      this.#givenUp.add(1, { 'crs.body.reason': refusal === tooSlow ? 'too_slow' : 'too_many' });
      reject(refusal);
    };
    let own = this.#arriving.get(address);
    if (!own) this.#arriving.set(address, (own = new Set()));
    own.add(giveUp);
    this.#total++;
    if (own.size > perAddress) giveUpOldest(own);
    else if (this.#total > total) giveUpOldest(this.#largest());
    return leave;
  }

  #largest(): Set<GiveUp> {
    let largest = new Set<GiveUp>();
    for (const own of this.#arriving.values()) if (own.size > largest.size) largest = own;
    return largest;
  }
}

function giveUpOldest(arriving: Set<GiveUp>): void {
  const refusal = overloaded();
  for (const giveUp of arriving) return giveUp(refusal);
}

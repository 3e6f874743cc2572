import type { ImportLine, ImportRecordsResponse } from '@crs/proto/crs/imports/v1/imports';
import { fold } from '@crs/kit/text';
import { readLines } from './lines.ts';
import { route, type Confines, type RefusedLine, type RoutedLine, type Taker } from './route.ts';

/** Lines of one organization and one group, in file order: at most 1,000 and 16 MiB. */
export interface Batch {
  service: Taker;
  organization: string;
  lines: ImportLine[];
}

/** Stores a batch. An error stops the import. */
export type Send = (batch: Batch) => Promise<ImportRecordsResponse>;

/** The progress so far. */
export interface Progress {
  /** Lines of the file, blank ones included. */
  lines: number;
  /** Bytes of the file. */
  bytes: number;
  /** Lines that changed something. */
  accepted: number;
  /** Lines that were stored already. */
  unchanged: number;
  refused: number;
}

export interface Observer {
  progress(progress: Readonly<Progress>): void;
  /** Called in the order of the file. */
  refused(refusal: RefusedLine): void;
}

/** The import ended early. All lines up to `doneThrough` were stored or refused; some later lines may have been, too. */
export class ImportStopped extends Error {
  override readonly name = 'ImportStopped';
  readonly doneThrough: number;

  constructor(doneThrough: number, cause: unknown) {
    super(`The import stopped after line ${doneThrough}.`, { cause });
    this.doneThrough = doneThrough;
  }
}

const MAX_BATCH_LINES = 1_000;
const MAX_BATCH_BYTES = 16 * 1024 * 1024;
/** More than a batch, so that batches are full even if a file mixes organizations. */
const MAX_CHUNK_LINES = 5_000;
const MAX_CHUNK_BYTES = MAX_BATCH_BYTES;
/** While one batch is sent, the service parses another and writes a third. */
const MAX_IN_FLIGHT = 3;

/** Consecutive lines of the file whose routed lines belong to one group. */
interface Chunk {
  group: string | undefined;
  routed: RoutedLine[];
  refusals: RefusedLine[];
  /** Positions in the file, in bytes. */
  start: number;
  end: number;
  /** Lines of the file up to the chunk's end. */
  lines: number;
}

/** A chunk whose batches are being sent. */
interface Delivery {
  chunk: Chunk;
  batchesLeft: number;
  bytesLeft: number;
}

/**
 * Imports a file. Records refer to earlier lines only, so a new group starts a new chunk, which is sent after all earlier lines are stored.
 * Within a group, the lines of each record keep their order. The next chunk is read while one is sent, so memory holds at most two.
 * @throws ImportStopped if the file can't be read further, or `send` failed
 */
export async function run(
  file: AsyncIterable<Buffer>,
  send: Send,
  observer: Observer,
  confines: Confines = {},
): Promise<Progress> {
  const done: Progress = { lines: 0, bytes: 0, accepted: 0, unchanged: 0, refused: 0 };
  const lanes = new Lanes();
  const deliveries: Delivery[] = [];
  let chunk: Chunk = { group: undefined, routed: [], refusals: [], start: 0, end: 0, lines: 0 };
  let group: string | undefined;
  let sending = Promise.resolve();

  const flush = async () => {
    const full = chunk;
    chunk = { group: undefined, routed: [], refusals: [], start: full.end, end: full.end, lines: full.lines };
    await sending;
    if (full.group !== group) await lanes.empty();
    group = full.group;
    sending = deliver(full);
    // The next `await sending` throws its failure.
    sending.catch(() => undefined);
  };

  /** Resolves when the chunk's last batch is being sent. */
  const deliver = async (full: Chunk) => {
    const all = [...batches(full.routed)];
    const delivery = { chunk: full, batchesLeft: all.length, bytesLeft: full.end - full.start };
    deliveries.push(delivery);
    finish();
    for (const batch of all) await lanes.start(batch, () => settle(batch, delivery));
  };

  const settle = async (batch: Batch, delivery: Delivery) => {
    const { accepted, unchanged, errors } = await send(batch);
    done.accepted += accepted;
    done.unchanged += unchanged;
    for (const { line, field, reason } of errors) delivery.chunk.refusals.push({ line, field: field || null, reason });
    const bytes = batch.lines.reduce((sum, { json }) => sum + json.length + 1, 0);
    done.bytes += bytes;
    delivery.bytesLeft -= bytes;
    delivery.batchesLeft--;
    finish();
    observer.progress(done);
  };

  /** Counts chunks as done in file order. */
  const finish = () => {
    while (deliveries[0]?.batchesLeft === 0) {
      const { chunk: ended, bytesLeft } = deliveries.shift()!;
      done.refused += ended.refusals.length;
      done.lines = ended.lines;
      // The bytes of refused and blank lines.
      done.bytes += bytesLeft;
      for (const refusal of ended.refusals.toSorted((a, b) => a.line - b.line)) observer.refused(refusal);
      observer.progress(done);
    }
  };

  try {
    for await (const line of readLines(file)) {
      const routed = route(line, confines);
      if (routed && 'group' in routed) {
        if (chunk.group !== undefined && chunk.group !== routed.group) await flush();
        chunk.group = routed.group;
        chunk.routed.push(routed);
      } else if (routed) {
        chunk.refusals.push(routed);
      }
      chunk.end = line.end;
      chunk.lines = line.number;
      if (isFull(chunk)) await flush();
    }
    await flush();
    await sending;
    await lanes.empty();
  } catch (error) {
    // Batches in flight count if they succeed.
    await sending.catch(() => undefined);
    await lanes.empty().catch(() => undefined);
    throw new ImportStopped(done.lines, error);
  }
  return done;
}

/** Sends a few batches concurrently. After the first failure no batch starts. */
class Lanes {
  readonly #inFlight = new Map<Batch, Promise<void>>();
  #failure: { error: unknown } | undefined;

  /** Starts a batch as soon as a slot is free and no batch in flight shares an id with it. */
  async start(batch: Batch, work: () => Promise<void>): Promise<void> {
    for (let blockers = this.#blockersOf(batch); blockers.length > 0; blockers = this.#blockersOf(batch)) {
      await Promise.race(blockers);
    }
    if (this.#failure) throw this.#failure.error;
    const running = work()
      .catch((error: unknown) => void (this.#failure ??= { error }))
      .finally(() => this.#inFlight.delete(batch));
    this.#inFlight.set(batch, running);
  }

  /** Resolves when no batch is in flight. */
  async empty(): Promise<void> {
    await Promise.all(this.#inFlight.values());
    if (this.#failure) throw this.#failure.error;
  }

  #blockersOf(batch: Batch): Promise<void>[] {
    const inFlight = [...this.#inFlight];
    const all = inFlight.length >= MAX_IN_FLIGHT ? inFlight : inFlight.filter(([other]) => overlaps(other, batch));
    return all.map(([, running]) => running);
  }
}

function isFull(chunk: Chunk): boolean {
  return chunk.routed.length + chunk.refusals.length >= MAX_CHUNK_LINES || chunk.end - chunk.start >= MAX_CHUNK_BYTES;
}

/** Whether both batches may have lines of the same record, so that their order matters. */
function overlaps(earlier: Batch, later: Batch): boolean {
  if (earlier.organization !== later.organization) return false;
  const ids = new Set(earlier.lines.map(({ id }) => fold(id)));
  return later.lines.some(({ id }) => ids.has(fold(id)));
}

/** Splits lines into batches of one organization each, as full as possible. */
function* batches(routed: RoutedLine[]): Generator<Batch> {
  for (const [organization, lines] of Map.groupBy(routed, (line) => line.organization)) {
    const { service } = lines[0]!;
    let batch: Batch = { service, organization, lines: [] };
    let size = 0;
    for (const { number, bytes, id } of lines) {
      if (batch.lines.length === MAX_BATCH_LINES || size + bytes.length > MAX_BATCH_BYTES) {
        yield batch;
        batch = { service, organization, lines: [] };
        size = 0;
      }
      batch.lines.push({ number, json: bytes, id });
      size += bytes.length;
    }
    yield batch;
  }
}

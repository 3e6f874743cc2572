import type { ImportLine, ImportRecordsResponse } from '@crs/proto/crs/imports/v1/imports';
import { fold } from '@crs/kit/text';
import { readLines } from './lines.ts';
import { route, type Confines, type Refusal, type RoutedLine, type Taker } from './route.ts';

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
  refused(refusal: Refusal): void;
}

/** The import ended early. All lines up to and including `doneThrough` were stored or refused. Later lines may have been, too. */
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
/** More than a batch, so that a file with several organizations still fills its batches. */
const MAX_WINDOW_LINES = 5_000;
const MAX_WINDOW_BYTES = MAX_BATCH_BYTES;
/** One batch travels, its service prepares one, and writes one. */
const MAX_UNDER_WAY = 3;

/** A stretch of the file whose routed lines are all of one group. */
interface Window {
  group: string | undefined;
  routed: RoutedLine[];
  refusals: Refusal[];
  /** Bytes of the file before it, and up to its end. */
  start: number;
  end: number;
  /** Lines of the file up to its end. */
  lines: number;
}

/** A window whose batches are being sent. */
interface Delivery {
  window: Window;
  batchesLeft: number;
  bytesLeft: number;
}

/**
 * Imports a file. A record may refer to earlier lines only. A new group therefore begins a new window, which is sent after all earlier
 * lines are stored. Within a group, the lines of each record keep their order. While a window is sent, the next one is read: memory
 * holds no more than these two.
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
  let window: Window = { group: undefined, routed: [], refusals: [], start: 0, end: 0, lines: 0 };
  let group: string | undefined;
  let sending = Promise.resolve();

  const flush = async () => {
    const full = window;
    window = { group: undefined, routed: [], refusals: [], start: full.end, end: full.end, lines: full.lines };
    await sending;
    if (full.group !== group) await lanes.empty();
    group = full.group;
    sending = deliver(full);
    // The next `await sending` meets its failure.
    sending.catch(() => undefined);
  };

  /** Resolves when the window's last batch is being sent. */
  const deliver = async (full: Window) => {
    const all = [...batches(full.routed)];
    const delivery = { window: full, batchesLeft: all.length, bytesLeft: full.end - full.start };
    deliveries.push(delivery);
    finish();
    for (const batch of all) await lanes.start(batch, () => settle(batch, delivery));
  };

  const settle = async (batch: Batch, delivery: Delivery) => {
    const { accepted, unchanged, errors } = await send(batch);
    done.accepted += accepted;
    done.unchanged += unchanged;
    for (const { line, field, reason } of errors) delivery.window.refusals.push({ line, field: field || null, reason });
    const bytes = batch.lines.reduce((sum, { json }) => sum + json.length + 1, 0);
    done.bytes += bytes;
    delivery.bytesLeft -= bytes;
    delivery.batchesLeft--;
    finish();
    observer.progress(done);
  };

  /** Windows count as done in the order of the file. */
  const finish = () => {
    while (deliveries[0]?.batchesLeft === 0) {
      const { window: ended, bytesLeft } = deliveries.shift()!;
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
        if (window.group !== undefined && window.group !== routed.group) await flush();
        window.group = routed.group;
        window.routed.push(routed);
      } else if (routed) {
        window.refusals.push(routed);
      }
      window.end = line.end;
      window.lines = line.number;
      if (isFull(window)) await flush();
    }
    await flush();
    await sending;
    await lanes.empty();
  } catch (error) {
    // Batches that are still under way count if they succeed.
    await sending.catch(() => undefined);
    await lanes.empty().catch(() => undefined);
    throw new ImportStopped(done.lines, error);
  }
  return done;
}

/** Sends a few batches concurrently. After the first failure no batch starts. */
class Lanes {
  readonly #underWay = new Map<Batch, Promise<void>>();
  #failure: { error: unknown } | undefined;

  /** Starts a batch as soon as there is room and no batch under way holds an id of it. */
  async start(batch: Batch, work: () => Promise<void>): Promise<void> {
    for (let inTheWay = this.#inTheWayOf(batch); inTheWay.length > 0; inTheWay = this.#inTheWayOf(batch)) {
      await Promise.race(inTheWay);
    }
    if (this.#failure) throw this.#failure.error;
    const running = work()
      .catch((error: unknown) => void (this.#failure ??= { error }))
      .finally(() => this.#underWay.delete(batch));
    this.#underWay.set(batch, running);
  }

  /** Resolves when no batch is under way. */
  async empty(): Promise<void> {
    await Promise.all(this.#underWay.values());
    if (this.#failure) throw this.#failure.error;
  }

  #inTheWayOf(batch: Batch): Promise<void>[] {
    const underWay = [...this.#underWay];
    const all = underWay.length >= MAX_UNDER_WAY ? underWay : underWay.filter(([other]) => overlaps(other, batch));
    return all.map(([, running]) => running);
  }
}

function isFull(window: Window): boolean {
  return window.routed.length + window.refusals.length >= MAX_WINDOW_LINES || window.end - window.start >= MAX_WINDOW_BYTES;
}

/** Whether both batches may have lines of the same record, so that their order counts. */
function overlaps(earlier: Batch, later: Batch): boolean {
  if (earlier.organization !== later.organization) return false;
  const ids = new Set(earlier.lines.map(({ id }) => fold(id)));
  return later.lines.some(({ id }) => ids.has(fold(id)));
}

/** Makes batches of one organization each, as full as possible. */
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

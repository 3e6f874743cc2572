import type { ImportLine, ImportRecordsResponse } from '@crs/proto/crs/imports/v1/imports';
import { fold } from '@crs/kit/text';
import { readLines } from './lines.ts';
import { route, type Refusal, type RoutedLine, type Taker } from './route.ts';

/** Lines of one organization and one group, in file order: at most 1,000 and 16 MiB. */
export interface Batch {
  service: Taker;
  organization: string;
  lines: ImportLine[];
}

/** Stores a batch; what it throws stops the import. */
export type Send = (batch: Batch) => Promise<ImportRecordsResponse>;

/** What has been done so far. */
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

/** The import ended early. Everything up to and including line `doneThrough` was stored or refused; later lines may have been. */
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
/** More than a batch, so that a file that mixes organizations still makes full ones. Two windows are held at most. */
const MAX_WINDOW_LINES = 5_000;
const MAX_WINDOW_BYTES = 2 * MAX_BATCH_BYTES;

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

/**
 * Imports a file. A record may refer to earlier lines only, so a new group begins a new window, and a window is sent when all
 * before it is stored; within one, the lines of each organization keep their order. While a window is sent, the next is read.
 * @throws ImportStopped when the file can't be read on or `send` gave up
 */
export async function run(file: AsyncIterable<Buffer>, send: Send, observer: Observer): Promise<Progress> {
  const done: Progress = { lines: 0, bytes: 0, accepted: 0, unchanged: 0, refused: 0 };
  let window: Window = { group: undefined, routed: [], refusals: [], start: 0, end: 0, lines: 0 };
  let sending = Promise.resolve();

  const flush = async () => {
    const full = window;
    window = { group: undefined, routed: [], refusals: [], start: full.end, end: full.end, lines: full.lines };
    await sending;
    sending = deliver(full, send, done, observer);
    // Its failure is met at the next await of it.
    sending.catch(() => undefined);
  };

  try {
    for await (const line of readLines(file)) {
      const routed = route(line);
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
  } catch (error) {
    // What is under way may still succeed, and then counts.
    await sending.catch(() => undefined);
    throw new ImportStopped(done.lines, error);
  }
  return done;
}

function isFull(window: Window): boolean {
  return window.routed.length + window.refusals.length >= MAX_WINDOW_LINES || window.end - window.start >= MAX_WINDOW_BYTES;
}

/** Sends a window and adds it to what is `done`. Two batches are under way at once, unless the second holds an id of the first. */
async function deliver(window: Window, send: Send, done: Progress, observer: Observer): Promise<void> {
  const refusals = window.refusals;
  const settle = async (batch: Batch) => {
    const { accepted, unchanged, errors } = await send(batch);
    done.accepted += accepted;
    done.unchanged += unchanged;
    for (const { line, field, reason } of errors) refusals.push({ line, field: field || null, reason });
    // Leaves out refused and blank lines; the end of the window sets it right.
    done.bytes += batch.lines.reduce((sum, { json }) => sum + json.length + 1, 0);
    observer.progress(done);
  };
  let before: { batch: Batch; settled: Promise<void> } | undefined;
  for (const batch of batches(window.routed)) {
    if (before && overlaps(before.batch, batch)) await before.settled;
    const settled = settle(batch);
    // Its failure is met when it is waited for.
    settled.catch(() => undefined);
    await before?.settled.catch(async (error: unknown) => {
      await settled.catch(() => undefined);
      throw error;
    });
    before = { batch, settled };
  }
  await before?.settled;
  done.refused += refusals.length;
  done.lines = window.lines;
  done.bytes = window.end;
  for (const refusal of refusals.toSorted((a, b) => a.line - b.line)) observer.refused(refusal);
  observer.progress(done);
}

/** Whether the later batch may say something of a record that the earlier one says something of, so that their order counts. */
function overlaps(earlier: Batch, later: Batch): boolean {
  if (earlier.organization !== later.organization) return false;
  const ids = new Set(earlier.lines.map(({ id }) => fold(id)));
  return later.lines.some(({ id }) => ids.has(fold(id)));
}

/** Batches of one organization each, full wherever possible. */
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

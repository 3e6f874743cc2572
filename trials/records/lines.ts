/** The file of records that the producers send, and the calls that an organization must have after it. */
import { createWriteStream } from 'node:fs';
import { once } from 'node:events';
import { finished } from 'node:stream/promises';

export const PROJECT = '00000000-0000-4000-8000-00000000000b';
export const USER = 'ann@records.example';
/** The id of the last record. It isn't used before. */
export const LAST = 'call-last';

export interface Call {
  type: 'call';
  id: string;
  [property: string]: unknown;
}

/** The calls after the last line, by id. */
export type Expected = Map<string, Call>;

/** How many of the latest calls later lines change. With batches of 1,000 lines, most changes are in the next batches. */
const RECENT = 3_000;
/** Lines of a body. */
const BODY = 1_000;
/** Length of the transcripts of a few large records, in bytes: more than a line may have by the programs' defaults. */
const LARGE = 1024 * 1024;

export interface FileOptions {
  lines: number;
  random: () => number;
  /** Whether later lines change earlier calls, so that the result depends on the order of the lines. Otherwise each id is there once. */
  changes: boolean;
}

/** Writes the file. @returns the calls that it results in */
export async function writeLines(path: string, options: FileOptions): Promise<Expected> {
  const file = createWriteStream(path);
  const expected: Expected = new Map();
  for (const line of linesOf(options)) {
    apply(expected, line);
    if (!file.write(`${JSON.stringify(line)}\n`)) await once(file, 'drain');
  }
  file.end();
  await finished(file);
  return expected;
}

function* linesOf({ lines, random, changes }: FileOptions): Generator<Call> {
  let created = 0;
  const deleted: number[] = [];
  for (let n = 1; n < lines; n++) {
    if (!changes || created < 10 || random() < 0.85) {
      const isLarge = n % Math.ceil(lines / 4) === 10;
      yield { ...whole(created, random), ...(isLarge && { transcript: 'Größe. '.repeat(LARGE / 9) }) };
      created++;
    } else yield change(created, deleted, random);
  }
  yield { ...whole(created, random), id: LAST };
}

/** A later line of a call: it is replaced, merged or deleted, or created again after its deletion. */
function change(created: number, deleted: number[], random: () => number): Call {
  const chance = random();
  const number = created - 1 - Math.floor(random() * Math.min(RECENT, created));
  if (chance < 0.04 && deleted.length > 0) return whole(deleted.pop()!, random);
  if (chance < 0.1 && created > RECENT + BODY) return remove(created, deleted);
  if (chance < 0.4) return whole(number, random);
  return { type: 'call', id: idOf(number), merge: true, ...merged(random) };
}

/** Deletes a call that no line of the same body merges: a body that merges a call and then deletes it can't be sent again, because the merge would be refused. */
function remove(created: number, deleted: number[]): Call {
  const number = created - RECENT - BODY;
  if (deleted.at(-1) !== number) deleted.push(number);
  return { type: 'call', id: idOf(number), deleted: true };
}

const idOf = (number: number) => `call-${number}`;
const pick = <T>(random: () => number, values: readonly T[]) => values[Math.floor(random() * values.length)]!;
const minuteOf = (number: number) => new Date(Date.UTC(2025, 0, 1, 0, number)).toISOString();

function whole(number: number, random: () => number): Call {
  const stamp = Math.floor(random() * 1e9);
  return {
    type: 'call',
    id: idOf(number),
    project_id: PROJECT,
    conducted_by: USER,
    call_type: pick(random, ['interview', 'meeting']),
    call_status: pick(random, ['scheduled', 'done', 'canceled']),
    created_at: minuteOf(number),
    date: minuteOf(number + 1_440),
    duration_minutes: Math.floor(random() * 90) + 0.5,
    rating: 1 + Math.floor(random() * 5),
    segment: pick(random, ['Buyers', 'Makers', 'Händler']),
    summary: `Summary ${stamp}: "quoted", \\ and \u{1f600}.`,
    expert: { name: `Expert ${stamp}`, country: pick(random, ['Chile', 'Österreich']) },
    participants: [{ name: 'Ann', role: 'host' }],
    transcript: [
      { speaker: 'Ann', start_seconds: 0.5, text: `Shall we start with ${stamp}?` },
      { speaker: `Expert ${stamp}`, start_seconds: 4, text: 'Yes.\nWe buy boxes.' },
    ],
  };
}

function merged(random: () => number): object {
  const stamp = Math.floor(random() * 1e9);
  return pick(random, [
    { summary: `Merged ${stamp}`, ktas: `- ${stamp}`, kta_approval_status: 'pending' },
    { rating: null, cost: stamp },
    { expert: { job_title: `Job ${stamp}`, country: null } },
    { transcript: [{ speaker: 'Ann', start_seconds: 1, text: `Merged ${stamp}.` }] },
  ]);
}

/** Changes the calls as the documentation says that a line does. */
function apply(calls: Expected, { deleted, merge, ...line }: Call): void {
  const stored = calls.get(line.id);
  if (deleted) calls.delete(line.id);
  else if (merge) {
    const expert = { ...(stored!['expert'] as object), ...(line['expert'] as object | undefined) };
    calls.set(line.id, { ...stored!, ...line, expert });
  } else calls.set(line.id, line);
}

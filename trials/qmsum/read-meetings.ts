import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Meeting } from './qmsum.ts';

/** The meetings of a QMSum file, one JSON object a line. */
export async function* readMeetings(path: string): AsyncGenerator<Meeting> {
  for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Infinity })) {
    if (line.trim()) yield JSON.parse(line) as Meeting;
  }
}

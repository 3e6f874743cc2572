/** `node qmsum-to-import.ts MEETINGS.jsonl [--organization ID]`: writes the meetings to standard output as lines for `crs import`. */
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { importRecords, type Meeting } from './qmsum.ts';

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { organization: { type: 'string', default: 'qmsum' } },
});
const [file] = positionals;
if (!file || positionals.length > 1) {
  console.error('usage: qmsum-to-import.ts MEETINGS.jsonl [--organization ID]');
  process.exit(2);
}

for await (const record of importRecords(readMeetings(file), values.organization)) {
  if (!process.stdout.write(`${JSON.stringify(record)}\n`)) await once(process.stdout, 'drain');
}

async function* readMeetings(path: string): AsyncGenerator<Meeting> {
  for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Infinity })) {
    if (line.trim()) yield JSON.parse(line) as Meeting;
  }
}

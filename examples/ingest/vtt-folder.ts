// Stores each WebVTT file of a folder as the transcript of a call: the file call_1.vtt becomes the call call_1.
//   CRS_API_KEY=crk_... CRS_BASE_URL=http://127.0.0.1:8080/v1 node vtt-folder.ts FOLDER
// Needs a key with the right `ingest`, and `crs` in the PATH. Run it as often as you like.
import { execFileSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { CallResearch } from '@call-research/client';

const { CRS_API_KEY: key = '', CRS_BASE_URL: baseUrl = '' } = process.env;
const client = new CallResearch({ key, baseUrl });
const folder = process.argv[2] ?? '.';
const sent: string[] = [];

function* calls() {
  const files = readdirSync(folder).filter((name) => name.endsWith('.vtt'));
  for (const file of files.toSorted()) {
    const path = join(folder, file);
    try {
      // `crs` prints what is wrong with a file on standard error.
      const transcript = execFileSync('crs', ['convert', '--from', 'vtt', path], {
        maxBuffer: 64 * 1024 * 1024,
        encoding: 'utf8',
      });
      const record = {
        type: 'call',
        id: basename(file, '.vtt'),
        created_at: statSync(path).mtime,
        transcript: JSON.parse(transcript) as unknown,
      };
      sent.push(file);
      yield record;
    } catch {
      console.error(`${file}: was not converted`);
      process.exitCode = 1;
    }
  }
}

const { accepted, unchanged, errors } = await client.records(calls());
for (const { line, field, reason } of errors) {
  console.error(`${sent[line - 1]}: ${field ?? 'the record'} ${reason}`);
  process.exitCode = 1;
}
console.log(`${accepted} calls stored, ${unchanged} unchanged`);

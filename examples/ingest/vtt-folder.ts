// Stores each WebVTT file of a folder as the transcript of a call: the file call_1.vtt becomes that of the call call_1.
//   CRS_API_KEY=crk_... CRS_BASE_URL=http://127.0.0.1:8080/v1 node vtt-folder.ts FOLDER
// Needs a key with the right `ingest`, and `crs` in the PATH. Run it as often as you like: it creates calls that don't exist, and
// otherwise changes only the transcript.
import { execFileSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { CallResearch } from '@call-research/client';

const { CRS_API_KEY: key = '', CRS_BASE_URL: baseUrl = '' } = process.env;
const client = new CallResearch({ key, baseUrl });
const folder = process.argv[2] ?? '.';

interface Call {
  type: 'call';
  id: string;
  transcript: unknown;
}

function fail(message: string): void {
  console.error(message);
  process.exitCode = 1;
}

function read(file: string): Call[] {
  try {
    // `crs` prints what is wrong with a file on standard error.
    const printed = execFileSync('crs', ['convert', '--from', 'vtt', join(folder, file)], { maxBuffer: 64 * 1024 * 1024 });
    return [{ type: 'call', id: basename(file, '.vtt'), transcript: JSON.parse(printed.toString()) as unknown }];
  } catch {
    fail(`${file}: was not converted`);
    return [];
  }
}

const files = readdirSync(folder).filter((name) => name.endsWith('.vtt'));
for (const file of files) {
  for (const call of read(file)) {
    let { accepted, errors } = await client.records([{ ...call, merge: true }]);
    if (errors[0]?.field === 'id') {
      ({ accepted, errors } = await client.records([{ ...call, created_at: statSync(join(folder, file)).mtime }]));
    }
    for (const { field, reason } of errors) fail(`${file}: ${field ?? 'the record'} ${reason}`);
    if (errors.length === 0) console.log(`${file}: ${accepted === 1 ? 'stored' : 'unchanged'}`);
  }
}

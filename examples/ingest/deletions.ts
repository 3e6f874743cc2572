// Deletes the calls of a list, one id a line, such as the nightly list of what your retention rules end.
//   CRS_API_KEY=crk_... CRS_BASE_URL=http://127.0.0.1:8080/v1 node deletions.ts ids.txt
// Needs a key with the right `delete`. A call that doesn't exist counts as unchanged, so after an error run it again. An organization
// has a limit of deletions an hour: beyond it, the error says when to try again.
import { open } from 'node:fs/promises';
import { CallResearch, RateLimitedError } from '@call-research/client';

const { CRS_API_KEY: key = '', CRS_BASE_URL: baseUrl = '' } = process.env;
const client = new CallResearch({ key, baseUrl });

async function* deletions(path: string) {
  const file = await open(path);
  for await (const line of file.readLines()) {
    if (line.trim() !== '') yield { type: 'call', id: line.trim(), deleted: true };
  }
}

try {
  const { accepted, unchanged, errors } = await client.records(deletions(process.argv[2] ?? ''));
  for (const { line, field, reason } of errors) console.error(`id ${line}: ${field ?? 'the record'} ${reason}`);
  console.log(`${accepted} calls deleted, ${unchanged} were not there`);
  process.exitCode = errors.length > 0 ? 1 : 0;
} catch (error) {
  if (!(error instanceof RateLimitedError)) throw error;
  console.error(`${error.message} Try again in ${error.retryAfter} seconds.`);
  process.exitCode = 1;
}

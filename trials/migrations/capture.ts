// Runs all migrations against an empty PostgreSQL, and writes the SQL that they send into a folder, with one file per step:
//
//   node trials/migrations/capture.ts FOLDER
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { prepareDatabase } from '@crs/local/stack';
import { startTestPostgres } from '@crs/testing/postgres';
import { OPERATOR_CREDENTIAL, SECRET } from '@crs/testing/setup';
import { interceptStatements } from '@crs/testing/intercept-statements';
import { STEP_SESSION } from '@crs/kit/data/migration';

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error('Name the folder to write to.');
const steps = new Map<string, string[]>();
let sent: string[] = [];
const stop = interceptStatements((statement) => {
  const { text, values = [] } = statement;
  // Each finished step is recorded in the table `migrations` of the service's schema.
  const service = /^insert into "(\w+)"\.migrations/.exec(text)?.[1];
  if (service !== undefined) {
    if (sent[0] === 'begin') sent.push('commit');
    steps.set(`${service}-${String(values[0])}`, [STEP_SESSION, ...sent]);
    sent = [];
  } else if (/^begin/i.test(text)) {
    sent = ['begin'];
  } else if (
    !/\.migrations/.test(text) &&
    /^\s*(alter|comment|create|drop|grant|revoke|set|truncate|update|delete)\b/i.test(text)
  ) {
    sent.push(text.trim());
  }
  return statement;
});
const postgres = await startTestPostgres();
try {
  await prepareDatabase({ adminDatabaseUrl: postgres.url, secret: SECRET, operatorCredential: OPERATOR_CREDENTIAL });
} finally {
  stop();
  await postgres.stop();
}
for (const [name, statements] of steps) await writeFile(join(folder, `${name}.sql`), `${statements.join(';\n')};\n`);

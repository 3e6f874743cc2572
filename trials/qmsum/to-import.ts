import { once } from 'node:events';
import { readArguments, refuseArguments } from '../arguments.ts';
import { importRecords } from './qmsum.ts';
import { readMeetings } from './read-meetings.ts';

const USAGE = `usage: node trials/qmsum/to-import.ts MEETINGS.jsonl [--organization ID]

Prints the meetings of a QMSum file as lines for \`crs import\`, in the organization \`qmsum\` or the named one.
`;

const { positionals, values } = readArguments(USAGE, {
  allowPositionals: true,
  options: { organization: { type: 'string', default: 'qmsum' } },
});
const [file] = positionals;
if (!file || positionals.length > 1) refuseArguments(USAGE, 'Name one file of meetings.');

for await (const record of importRecords(readMeetings(file), values.organization)) {
  if (!process.stdout.write(`${JSON.stringify(record)}\n`)) await once(process.stdout, 'drain');
}

import { isDeepStrictEqual } from 'node:util';
import { readArguments, refuseArguments } from '../arguments.ts';
import { expectedTranscript, mapMeeting } from './qmsum.ts';
import { readMeetings } from './read-meetings.ts';

const USAGE = `usage: node trials/qmsum/verify.ts MEETINGS.jsonl --rest http://127.0.0.1:8080/v1 --key crk_... [--organization qmsum]

Reads imported QMSum meetings back over REST, with a key of their organization, and compares them with their source. Prints the
meetings that differ and the counts. Exits with 1 where one differs.
`;

const { positionals, values } = readArguments(USAGE, {
  allowPositionals: true,
  options: { rest: { type: 'string' }, key: { type: 'string' }, organization: { type: 'string', default: 'qmsum' } },
});
const [file] = positionals;
if (!file || !values.rest || !values.key) refuseArguments(USAGE, 'Name the file of meetings, --rest and --key.');

interface Detail {
  summary: string | null;
  key_takeaways: string | null;
  participants: { name: string }[];
  qa_blocks: { question: string; answer: string; section: string | null }[];
  transcripts: { kind: string }[];
}

async function read(callId: string): Promise<Detail> {
  const response = await fetch(`${values.rest}/calls/${callId}`, { headers: { authorization: `Bearer ${values.key}` } });
  if (!response.ok) throw new Error(`${callId}: ${response.status} ${await response.text()}`);
  return (await response.json()) as Detail;
}

let index = 0;
let turns = 0;
let different = 0;
for await (const meeting of readMeetings(file)) {
  const record = mapMeeting(meeting, index++, values.organization);
  const detail = await read(record.id);
  const expected = expectedTranscript(meeting);
  const same =
    isDeepStrictEqual(
      detail.transcripts.find(({ kind }) => kind === 'verbatim'),
      expected,
    ) &&
    detail.summary === record.summary &&
    detail.key_takeaways === record.ktas &&
    isDeepStrictEqual(
      detail.qa_blocks.map(({ question, answer, section }) => ({ question, answer, section })),
      record.qa_blocks,
    ) &&
    isDeepStrictEqual(
      detail.participants.map(({ name }) => name),
      record.participants.map(({ name }) => name),
    );
  turns += expected.segments.length;
  if (!same) {
    different++;
    process.stdout.write(`${record.id}: differs from its source\n`);
  }
}
process.stdout.write(`${index} meetings, ${turns} turns read back, ${different} differ\n`);
process.exitCode = different === 0 ? 0 : 1;

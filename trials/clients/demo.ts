/** Determines from the imported records alone, independently of the system, which records the demo user may see. */
import { readFileSync } from 'node:fs';

interface Project {
  type: 'project';
  id: string;
  created_at: string;
  created_by: string | null;
  is_archived?: boolean;
  members: { email: string }[];
}

interface Call {
  type: 'call';
  id: string;
  conducted_by: string | null;
  created_at: string;
  date: string | null;
  cost: number | null;
  expert: { name: string } | null;
  summary: string | null;
  ktas: string | null;
  notes: { email: string; text: string }[];
  qa_blocks: { id: string; question: string; answer: string; section: string }[];
  transcript: { text: string }[] | string | null;
}

interface Entity {
  type: 'entity';
  id: string;
  project_id: string;
  name: string;
}

const USER = 'dana@northwind.example';
const file = new URL('../../deploy/local/demo/demo.ndjson', import.meta.url);
const lines = readFileSync(file, 'utf8').trim().split('\n');
const records = lines.map((line) => JSON.parse(line) as Project | Call | Entity);

const newestFirst = (time: (record: { created_at: string; date?: string | null }) => string) => {
  return (a: Project | Call, b: Project | Call) => Date.parse(time(b)) - Date.parse(time(a));
};

export const projects = records
  .filter((record) => record.type === 'project')
  .filter(({ is_archived: isArchived }) => isArchived !== true)
  .filter(({ created_by: creator, members }) => creator === USER || members.some(({ email }) => email === USER))
  .toSorted(newestFirst((project) => project.created_at));

/** Returns the calls that the user conducted. */
export const calls = records
  .filter((record) => record.type === 'call')
  .filter((call) => call.conducted_by === USER)
  .toSorted(newestFirst((call) => call.date ?? call.created_at));

export const entities = records.filter((record) => record.type === 'entity');

/** Returns one of the calls, an interview with a transcript, as `get_call` returns it. */
export const { call, turns } = (() => {
  const found = calls.find(({ expert, transcript }) => expert && Array.isArray(transcript))!;
  const { id, cost, summary, ktas, qa_blocks } = found;
  const notes = found.notes.find(({ email }) => email === USER)?.text ?? null;
  return {
    call: { id, transcript_public_id: id, cost, summary, ktas, qa_blocks, notes },
    turns: (found.transcript as { text: string }[]).map(({ text }) => text),
  };
})();

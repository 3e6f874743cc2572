// Organizations whose calls have one person in every named field, and how tests search everything that is stored of them.

import { runCrs } from '@crs/testing/run-crs';
import type { World } from '@crs/testing/world';
import { callLine, PROJECT, type CallLine } from '../_records.ts';

export const NAME = 'Zyxa Canary';
export const EMAIL = 'zyxa@canary.example';
export const EMPLOYER = 'Canary Works';

/** The named fields of a call, each with a value of the person. */
export const NAMED = {
  'expert.name': { expert: { name: NAME, organization: EMPLOYER } },
  'expert.job_title': { expert: { name: NAME, organization: EMPLOYER, job_title: 'Zyxa of Canary' } },
  'expert.bio': { expert: { name: NAME, organization: EMPLOYER, bio: 'Zyxa founded Canary.' } },
  anonymized_name: { expert: { name: NAME, organization: EMPLOYER }, anonymized_name: 'Canary 7' },
  'participants[].name': { participants: [{ name: NAME, role: 'guest' }] },
  'participants[].email': { participants: [{ name: NAME, email: EMAIL }] },
  'transcript[].speaker': { transcript: [{ speaker: `Dr. ${NAME}`, start_seconds: 1, text: 'Hello.' }] },
  'transcript[].text': { transcript: [{ speaker: 'Ann', start_seconds: 1, text: `Hello.\n${NAME}: Hi.` }] },
  transcript: { transcript: `Ann: Hello.\n${NAME}: Hi.` },
  'redacted_transcript[].speaker': { redacted_transcript: [{ speaker: NAME.toUpperCase(), text: 'Hello.' }] },
  redacted_transcript: { redacted_transcript: `[00:05] ${NAME}: Hi.`, anonymity_status: 'complete' },
};

/** Running text with the person, by path. */
export const MENTIONED = {
  summary: { summary: `As ${NAME} says.` },
  'notes[].text': { notes: [{ email: 'ann@crs.example', text: `Ask ${NAME}.` }] },
  'qa_blocks[].answer': { qa_blocks: [{ question: 'Who?', answer: `${NAME}, I think.` }] },
  transcript: { transcript: `Ann: I met ${NAME} there.` },
};

const common = { created_at: '2025-03-01T10:00:00Z', project_id: PROJECT, conducted_by: 'ann@crs.example' };

/** Calls with the person in each named field and in each running text, and one without. */
export function linesOf(organization: string): CallLine[] {
  return [
    ...Object.values(NAMED).map((fields, i) =>
      callLine(organization, `named-${String(i).padStart(2, '0')}`, { ...common, ...fields }),
    ),
    ...Object.values(MENTIONED).map((fields, i) => callLine(organization, `text-${i}`, { ...common, ...fields })),
    callLine(organization, 'without', { ...common, expert: { name: 'Ann Other', organization: 'Initech' }, summary: 'Nobody.' }),
  ];
}

/** Returns everything that the service stores of an organization, as text by call id; all other rows are under `''`. */
export async function stored(world: World, organization: string): Promise<Map<string, string>> {
  const parts = ['calls', 'notes', 'changes', 'feeds', 'call_days', 'erasures', 'erased_calls'].map((table) => {
    const id = ['calls', 'notes'].includes(table) ? 't.call_id' : `''`;
    return `select ${id} as id, to_jsonb(t)::text as row from calls.${table} t where t.organization = $1`;
  });
  const { rows } = await world.query(parts.join(' union all '), [organization]);
  const texts = new Map<string, string>();
  for (const { id, row } of rows) texts.set(id, (texts.get(id) ?? '') + row);
  return texts;
}

/** Ids of the calls with a trace of the person in what is stored, except `''` for other rows. */
export async function traces(world: World, organization: string): Promise<string[]> {
  return [...(await stored(world, organization))]
    .filter(([, text]) => /canary/i.test(text))
    .map(([id]) => id)
    .toSorted();
}

/** Runs `crs ... --json`. */
export async function crs(world: World, ...args: string[]) {
  const { stdout, stderr, status } = await runCrs(world, [...args, '--json']);
  return { status, stderr, json: stdout === '' ? undefined : JSON.parse(stdout) };
}

/** Finds running text that contains a person's name or e-mail. */
import { fold } from '@crs/kit/text';
import { normalizeText } from '../stored-json/index.ts';
import type { Erasure } from './erase-person.ts';
import type { Person } from './person.ts';

/** Paths that hold ids, states, names and e-mails, which a person either is or isn't. All other texts are running text. */
const NOT_TEXT = new Set([
  ...['type', 'organization', 'id', 'project_id', 'call_type', 'call_status', 'anonymity_status', 'kta_approval_status'],
  ...['conducted_by', 'created_at', 'date', 'language', 'expert.name', 'anonymized_name', 'participants[].name'],
  ...['participants[].email', 'transcript[].speaker', 'redacted_transcript[].speaker', 'qa_blocks[].id', 'notes[].email'],
]);

/** Returns the paths of an erased line whose text still has the person. Finds nobody who is known only by digests. */
export function findMentions({ line, names, isNamesake }: Erasure, person: Person): string[] {
  if ('salt' in person || isNamesake) return [];
  const spellings = names.flatMap((name) => [...name.spellings]);
  const email = person.email === undefined ? [] : [fold(person.email)];
  const wanted = [...spellings, ...email];
  const paths = new Set<string>();
  for (const [path, text] of textsOf(line, '')) {
    if (NOT_TEXT.has(path) || paths.has(path)) continue;
    const normalized = normalizeText(text);
    if (wanted.some((each) => normalized.includes(each))) paths.add(path);
  }
  return [...paths];
}

/** Returns each text in a line, with its path. */
function* textsOf(value: unknown, path: string): Generator<[path: string, text: string]> {
  if (typeof value === 'string') yield [path, value];
  else if (Array.isArray(value)) for (const each of value) yield* textsOf(each, `${path}[]`);
  else if (typeof value === 'object' && value !== null) {
    for (const [name, each] of Object.entries(value)) yield* textsOf(each, path === '' ? name : `${path}.${name}`);
  }
}

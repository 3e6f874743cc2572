/** Finds texts that contain a person's name or e-mail as a part. */
import { fold } from '@crs/kit/text';
import { normalizeText } from '../stored-json/index.ts';
import type { Erasure } from './erase-person.ts';
import type { Person } from './person.ts';

/** Paths that hold ids and states, and the e-mails of users. */
const NOT_TEXT = new Set([
  ...['type', 'organization', 'id', 'project_id', 'call_type', 'call_status', 'anonymity_status', 'kta_approval_status'],
  ...['conducted_by', 'created_at', 'date', 'language', 'qa_blocks[].id', 'notes[].email'],
]);

/**
 * Returns the paths of an erased line whose text still has the person: running text, and names that are longer than the person's. Finds nobody who
 * is known only by digests.
 */
export function findMentions({ line, names, isNamesake }: Erasure, person: Person): string[] {
  if ('salt' in person || isNamesake) return [];
  const spellings = names.flatMap((name) => [...name.spellings]).filter((spelling) => spelling.length > 1);
  const wanted = [
    ...spellings.map((text) => ({ text, ...AROUND_NAME })),
    ...(person.email === undefined ? [] : [{ text: fold(person.email), ...AROUND_EMAIL }]),
  ];
  const paths = new Set<string>();
  for (const [path, text] of textsOf(line, '')) {
    if (NOT_TEXT.has(path) || paths.has(path)) continue;
    const normalized = normalizeText(text);
    if (wanted.some((each) => contains(normalized, each))) paths.add(path);
  }
  return [...paths];
}

/*
 * What must not stand before and after a match: letters and digits, except in scripts that put no spaces between words, because there a neighbor says
 * nothing.
 */

/** Part of a longer name, as in `Annual` and `Eva Smith-Brown`. */
const AROUND_NAME = {
  before: /[[\p{L}\p{N}\p{M}]--[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}]][\-‐‑]?$/v,
  after: /^[\-‐‑]?[[\p{L}\p{N}\p{M}]--[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}]]/v,
};
/** Part of another e-mail, as in `joann@acme.example` and `ann@acme.example.au`. */
const AROUND_EMAIL = {
  before:
    /(?:[[\p{L}\p{N}\p{M}]--[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}]]|[._+%\-])$/v,
  after:
    /^(?:[_\-]|\.?[[\p{L}\p{N}\p{M}]--[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}]])/v,
};

/** In UTF-16 code units: a hyphen and a letter. */
const NEIGHBORS = 3;

interface Wanted {
  text: string;
  before: RegExp;
  after: RegExp;
}

function contains(text: string, wanted: Wanted): boolean {
  const step = stepOf(wanted);
  for (let at = text.indexOf(wanted.text); at !== -1; at = text.indexOf(wanted.text, at + step)) {
    const end = at + wanted.text.length;
    const before = text.slice(Math.max(0, at - NEIGHBORS), at);
    if (!wanted.before.test(before) && !wanted.after.test(text.slice(end, end + NEIGHBORS))) return true;
  }
  return false;
}

/** Returns how far the next match is at least: it can't begin after a letter. Otherwise the search in `aaa...` would take quadratic time. */
function stepOf({ text, before }: Wanted): number {
  const boundary = Array.from(text).findIndex((character) => !before.test(character));
  return boundary === -1 ? text.length : boundary + 1;
}

/** Returns each text in a line, with its path. */
function* textsOf(value: unknown, path: string): Generator<[path: string, text: string]> {
  if (typeof value === 'string') yield [path, value];
  else if (Array.isArray(value)) for (const each of value) yield* textsOf(each, `${path}[]`);
  else if (typeof value === 'object' && value !== null) {
    for (const [name, each] of Object.entries(value)) yield* textsOf(each, path === '' ? name : `${path}.${name}`);
  }
}

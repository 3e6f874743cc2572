/** Recognizes a person in a call, by an e-mail or a name, or by the digests of one that a ledger keeps. */
import { createHmac } from 'node:crypto';
import { fold } from '@crs/kit/text';
import { namesIn, namesInLabels, toNamePattern, type NamePattern } from '../stored-json/index.ts';
import type { Line } from './line.ts';

/** A person as an operator names it, by an e-mail or by a name. Plain data, for the worker thread. */
export interface NamedPerson {
  email?: string | undefined;
  name?: string | undefined;
  /** With a name: an expert with this name and another employer is somebody else. */
  employer?: string | undefined;
}

/** A person as a ledger of erasures knows it. Digests and salt are hexadecimal digits. */
export interface DigestedPerson {
  salt: string;
  email: string | null;
  /** One for each spelling. */
  names: string[];
  employer: string | null;
}

export type Person = NamedPerson | DigestedPerson;

/** A person's traces in the calls of an organization. */
export interface Recognizer {
  /** Whether the person is known by an e-mail. The names are then those of the participants who have it. */
  byEmail: boolean;
  hasEmail: (email: string) => boolean;
  hasEmployer: (employer: string | null) => boolean;
  /** The names by which the person may occur in a call. */
  namesFor: (line: Line) => NamePattern[];
}

const MAX_COMPARED = 10_000;

export function recognizer(person: Person): Recognizer {
  return 'salt' in person ? byDigests(person) : byValues(person);
}

function byValues({ email, name, employer }: NamedPerson): Recognizer {
  const pattern = toNamePattern(name ?? null);
  const [wantedEmail, wantedEmployer] = [fold(email ?? ''), fold(employer ?? '')];
  return {
    byEmail: wantedEmail !== '',
    hasEmail: (each) => fold(each) === wantedEmail,
    hasEmployer: (each) => wantedEmployer === '' || (each !== null && fold(each) === wantedEmployer),
    namesFor: () => (pattern ? [pattern] : []),
  };
}

function byDigests({ salt, email, names, employer }: DigestedPerson): Recognizer {
  const digestOf = digester(salt);
  const wanted = new Set(names);
  return {
    byEmail: email !== null,
    hasEmail: (each) => digestOf('email', fold(each)) === email,
    hasEmployer: (each) => employer === null || (each !== null && digestOf('employer', fold(each)) === employer),
    namesFor: (line) => {
      const found = new Set<string>();
      // Labels repeat. The set is bounded, because a transcript may have millions of different ones.
      const compared = new Set<string>();
      for (const name of candidatesIn(line)) {
        if (compared.has(name)) continue;
        if (compared.size === MAX_COMPARED) compared.clear();
        compared.add(name);
        if (wanted.has(digestOf('name', name))) found.add(name);
      }
      return [...found].flatMap((name) => toNamePattern(name) ?? []);
    },
  };
}

/** Digests a person under a new salt, for the ledger. */
export function digestPerson({ email, name, employer }: NamedPerson, salt: string): DigestedPerson {
  const digestOf = digester(salt);
  const pattern = toNamePattern(name ?? null);
  return {
    salt,
    email: email === undefined ? null : digestOf('email', fold(email)),
    names: [...(pattern?.spellings ?? [])].map((spelling) => digestOf('name', spelling)).toSorted(),
    employer: employer === undefined ? null : digestOf('employer', fold(employer)),
  };
}

const DIGEST_BYTES = 16;

/** Returns a function that digests a value of one kind. Names are short and often known, so whoever has the salt can find them by trying. */
export function digester(salt: string) {
  const key = Buffer.from(salt, 'hex');
  return (kind: 'email' | 'name' | 'employer' | 'call', value: string): string =>
    createHmac('sha256', key).update(`${kind}\0${value}`).digest().toString('hex', 0, DIGEST_BYTES);
}

/** Returns the normalized names in a call where a person's name may stand. */
function* candidatesIn({ expert, participants, transcript, redacted_transcript }: Line): Generator<string> {
  for (const name of [expert?.name, ...(participants ?? []).map((each) => each.name)]) if (name) yield* inLabel(name);
  for (const content of [transcript, redacted_transcript]) {
    if (typeof content === 'string') yield* namesInLabels(content);
    else {
      const speakers = new Set((content ?? []).map(({ speaker }) => speaker ?? ''));
      for (const speaker of speakers) yield* inLabel(speaker);
      for (const { text } of content ?? []) yield* namesInLabels(text);
    }
  }
}

function* inLabel(text: string): Generator<string> {
  yield* namesIn(text);
  yield* namesInLabels(`${text}:`);
}

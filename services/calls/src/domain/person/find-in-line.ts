/** Finds a person in the import line of a call, and erases them from it. For long lines, the worker thread imports this module. */
import type { WorkerTask } from '@crs/kit/process/worker';
import { erasePerson } from './erase-person.ts';
import type { Line } from './line.ts';
import { findMentions } from './mentions.ts';
import { recognizer, type Person } from './person.ts';

interface Input {
  line: Uint8Array;
  person: Person;
}

export interface Found {
  /** Paths of the fields that hold the person. */
  fields: string[];
  /** Paths of the running text that contains the person's name or e-mail. */
  mentions: string[];
  /** The line with these fields emptied. Null: there are none. */
  erased: Uint8Array | null;
}

export const run: WorkerTask<Input, Found>['run'] = ({ line, person }) => {
  const parsed = JSON.parse(Buffer.from(line.buffer, line.byteOffset, line.length).toString()) as Line;
  const erasure = erasePerson(parsed, recognizer(person));
  const { fields } = erasure;
  const erased = fields.length > 0 ? Buffer.from(JSON.stringify(erasure.line)) : null;
  return { fields, mentions: findMentions(erasure, person), erased };
};

export const finder: WorkerTask<Input, Found> = { url: import.meta.url, run };

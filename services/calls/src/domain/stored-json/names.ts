import { createHmac } from 'node:crypto';
import { fold } from '@crs/kit/text';
import type { Metadata } from '../columns.ts';

/** The columns that determine the name shown for an interviewee. */
export type Named = Pick<Metadata, 'name' | 'employer' | 'anonymizedName'>;

/**
 * Returns the value of `interviewee.name`.
 * @param anonymizeWith the organization's secret, if the organization has names anonymized; undefined: the name is shown as recorded
 */
export function shownName(call: Named, anonymizeWith: Buffer | undefined): string | null {
  const { name, employer } = call;
  if (name === null || anonymizeWith === undefined) return name;
  return recordedAlias(call) ?? pseudonym(name, employer, anonymizeWith);
}

/**
 * Returns what replaces the interviewee's name in participants, speakers and labels.
 * @returns undefined if the name is shown as recorded, or there is none
 */
export function replacementFor(call: Named, nameEnabled: boolean, anonymizeWith: Buffer | undefined): string | undefined {
  const { name } = call;
  if (name === null || name.trim() === '') return undefined;
  if (!nameEnabled) return recordedAlias(call) ?? 'Interviewee';
  if (anonymizeWith === undefined) return undefined;
  return shownName(call, anonymizeWith) ?? undefined;
}

/** Returns the anonymized name of the record, unless it is blank. */
function recordedAlias({ anonymizedName }: Named): string | undefined {
  return anonymizedName === null || anonymizedName.trim() === '' ? undefined : anonymizedName;
}

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/**
 * Derives a name that is the same in all calls of an organization with that person, and reveals nothing without the organization's secret.
 * JSON keeps name and employer apart, and a missing employer apart from an empty one.
 */
function pseudonym(name: string, employer: string | null, secret: Buffer): string {
  const person = JSON.stringify([fold(name), employer === null ? null : fold(employer)]);
  let bits = createHmac('sha256', secret).update(person).digest().readUIntBE(0, 5);
  let code = '';
  for (let i = 0; i < 8; i++) {
    code = BASE32.charAt(bits % 32) + code;
    bits = Math.floor(bits / 32);
  }
  return `Expert ${code}`;
}

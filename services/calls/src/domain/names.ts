import { createHmac } from 'node:crypto';
import { fold } from '@crs/kit/text';
import type { Call } from './columns.ts';

type Named = Pick<Call, 'name' | 'employer' | 'anonymizedName'>;

/**
 * What `interviewee.name` shows.
 * @param anonymizeWith the organization's secret where it has names anonymized; undefined: the name as recorded
 */
export function shownName(call: Named, anonymizeWith: Buffer | undefined): string | null {
  const { name, employer } = call;
  if (name === null || anonymizeWith === undefined) return name;
  return recordedAlias(call) ?? pseudonym(name, employer, anonymizeWith);
}

/**
 * What stands for the interviewee's name wherever else it would name the interviewee: participants, speakers, labels. Undefined
 * where nothing is to be replaced: the name is shown as recorded, or there is none.
 */
export function replacementFor(call: Named, nameEnabled: boolean, anonymizeWith: Buffer | undefined): string | undefined {
  const { name } = call;
  if (name === null || name.trim() === '') return undefined;
  if (!nameEnabled) return recordedAlias(call) ?? 'Interviewee';
  if (anonymizeWith === undefined) return undefined;
  return shownName(call, anonymizeWith) ?? undefined;
}

/** A blank one names nobody and counts as none. */
function recordedAlias({ anonymizedName }: Named): string | undefined {
  return anonymizedName === null || anonymizedName.trim() === '' ? undefined : anonymizedName;
}

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/**
 * A name that is the same for the same person in all calls of an organization and says nothing without its secret. The encoding as
 * a JSON list keeps name and employer apart, and no employer from an empty one.
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

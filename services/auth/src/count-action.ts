import type { Database } from '@crs/kit/data/database';
import {
  credentialScope,
  directoryScope,
  EVERY_ORGANIZATION,
  everyOrganizationScope,
  workFor,
  type Work,
} from '@crs/kit/data/scope';
import { digestOf } from '@crs/kit/api-key';
import type { OperatorIdentity } from '@crs/kit/rpc/identity';
import { countAgain, countFirst, type CountedEntry } from './store/audit.ts';
import { countTry } from './store/throttles.ts';

/** An action that may happen very often: all equal ones of a minute share an entry of the audit trail, which counts them. */
export interface FrequentAction extends Omit<CountedEntry, 'countedAs'> {
  /** Tells apart actions that look equal otherwise. By default the address does. */
  key?: string;
  /** Whose actions share the limit of new entries a minute, for example `strangers`. */
  source: string;
}

const ENTRIES_A_MINUTE = 100;

/** Records the action. Beyond the limit of its source, further entries of the minute are one. */
export async function countAction(db: Database, action: FrequentAction): Promise<void> {
  const { key = action.address, source, ...entry } = action;
  const { organization, actor, target, outcome } = entry;
  const countedAs = digestOf(JSON.stringify([actor, entry.action, target, outcome, key]));
  const work = workFor(2_000);
  const counted = await db.run(scopeOf(organization, work), countAgain({ ...entry, countedAs }));
  if (counted.length > 0) return;
  const [made] = await db.run(directoryScope(work), countTry(digestOf(`audit:${source}`), 60));
  if (made!.tries <= ENTRIES_A_MINUTE) {
    await db.run(scopeOf(organization, work), countFirst({ ...entry, countedAs }));
    return;
  }
  const others = { ...entry, organization: EVERY_ORGANIZATION, target: 'others', address: '' };
  const ofOthers = digestOf(JSON.stringify([actor, entry.action, outcome, source, 'others']));
  await db.run(everyOrganizationScope(work), countFirst({ ...others, countedAs: ofOthers }));
}

/** Records what an operator was allowed to do, and may do very often. */
export function countOperatorAction(
  db: Database,
  { organization = EVERY_ORGANIZATION, name }: OperatorIdentity,
  action: { action: string; target: string; address: string },
): Promise<void> {
  return countAction(db, { ...action, organization, actor: name, outcome: 'done', source: `done by ${name}` });
}

function scopeOf(organization: string, work: Work) {
  return organization === EVERY_ORGANIZATION ? everyOrganizationScope(work) : credentialScope(organization, work);
}

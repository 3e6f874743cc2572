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
import type { OperatorIdentity, OrganizationIdentity } from '@crs/kit/rpc/identity';
import { countAgain, countFirst, type CountedEntry } from './store/audit.ts';
import { countTry } from './store/throttles.ts';

/** An action that may happen very often. Equal actions within a minute share one entry of the audit trail, which counts them. */
export interface FrequentAction extends Omit<CountedEntry, 'countedAs'> {
  /** Actions with different keys have different entries. Absent: the address is the key. */
  key?: string;
  /** Actions of one source share a limit of new entries per minute. */
  source: string;
  /** How many actions these are; by default one. */
  count?: number;
}

const ENTRIES_A_MINUTE = 100;

/** Records the action. Once its source has reached the limit of new entries, all further ones of that minute share one entry. */
export async function countAction(db: Database, action: FrequentAction): Promise<void> {
  const { key = action.address, source, count = 1, ...entry } = action;
  const { organization, actor, target, outcome } = entry;
  const countedAs = digestOf(JSON.stringify([actor, entry.action, target, outcome, key]));
  const work = workFor(2_000);
  const counted = await db.run(scopeOf(organization, work), countAgain({ ...entry, countedAs }, count));
  if (counted.length > 0) return;
  const [newEntries] = await db.run(directoryScope(work), countTry(digestOf(`audit:${source}`), 60));
  if (newEntries!.tries <= ENTRIES_A_MINUTE) {
    await db.run(scopeOf(organization, work), countFirst({ ...entry, countedAs }, count));
    return;
  }
  const others = { ...entry, organization: EVERY_ORGANIZATION, target: 'others', address: '' };
  const countedAsOther = digestOf(JSON.stringify([actor, entry.action, outcome, source, 'others']));
  await db.run(everyOrganizationScope(work), countFirst({ ...others, countedAs: countedAsOther }, count));
}

/**
 * Records an operator's permitted action, which may happen very often. The limit applies to each organization, so that work on many
 * organizations in a minute leaves out none of them.
 */
export function countOperatorAction(
  db: Database,
  { organization = EVERY_ORGANIZATION, name }: OperatorIdentity,
  action: { action: string; target: string; address: string },
): Promise<void> {
  return countAction(db, { ...action, organization, actor: name, outcome: 'done', source: `done by ${name} in ${organization}` });
}

/** What a key does or attempts. */
export const KEY_ACTIONS = { 'key.refuse': 'unauthenticated', 'records.write': 'done', 'records.delete': 'done' };
export type KeyAction = keyof typeof KEY_ACTIONS;

/** Records what a key does or attempts. Equal actions of a minute share one entry a key, whatever the addresses. */
export function countKeyAction(
  db: Database,
  { organization, keyId }: OrganizationIdentity,
  { action, address, count }: { action: KeyAction; address: string; count: number | undefined },
): Promise<void> {
  const entry = { organization, actor: keyId, action, target: keyId, outcome: KEY_ACTIONS[action], address };
  return countAction(db, { ...entry, key: '', source: `key ${keyId}`, ...(count !== undefined && { count }) });
}

function scopeOf(organization: string, work: Work) {
  return organization === EVERY_ORGANIZATION ? everyOrganizationScope(work) : credentialScope(organization, work);
}

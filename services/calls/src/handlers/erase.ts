import type { Query } from '@crs/kit/data/database';
import { FIRST_TEXT, once } from '@crs/records/erase-steps';
import { eraseRpc } from '@crs/records/erasure';
import type { RecordContext } from '@crs/records/record-service';
import { eraseCalls, eraseProjectCalls, eraseRest, eraseUser } from '../store/erase.ts';
import { eraseErasedCalls } from '../store/erasures.ts';
import { feed, feedHeads } from '../store/feed.ts';
import { requireUnheld } from './require-unheld.ts';

/** Bounds how long readers wait for a transaction of deletions. */
const CALLS_AT_ONCE = 1_000;

/**
 * Erases in steps, each committed. A repeated call resumes where an earlier one stopped. `BeginErasure` has looked for legal holds, and none can have
 * begun since, because auth has marked the target. The steps look again, so that no other order of calls deletes what is held.
 */
export function erase(context: RecordContext) {
  return eraseRpc(
    'calls',
    context,
    (target, { organization, locked, all }) => {
      const unheld = (query: Query) => requireUnheld(query, organization, target);
      switch (target?.$case) {
        case 'organization':
          return [
            once(() => locked(unheld)),
            all(FIRST_TEXT, eraseCalls),
            all(FIRST_TEXT, feed.eraseChanges),
            all(FIRST_TEXT, eraseErasedCalls),
            once(() => locked((query) => eraseRest(query, organization))),
            once(() =>
              locked(async (query) => {
                await query(feedHeads.erase(organization));
                await query(feed.erase(organization));
              }),
            ),
          ];
        case 'projectId':
          return [
            () =>
              locked(async (query, now) => {
                await unheld(query);
                const erased = await query(eraseProjectCalls(organization, target.value, CALLS_AT_ONCE));
                const moved = erased.map(({ callId }) => ({ recordId: callId, changedAt: now, deleted: true }));
                await feed.append(query, organization, moved, now);
                return erased.length;
              }),
          ];
        case 'userId':
          return [
            once(() =>
              locked(async (query) => {
                await unheld(query);
                await eraseUser(query, organization, target.value);
              }),
            ),
          ];
        case undefined:
          return [];
      }
    },
    false,
  );
}

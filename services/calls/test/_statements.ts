// Sends every SQL statement of the calls service, for testing/test/row-level-security.test.ts.

import { ALLOWED_FIELDS } from '@crs/records/allowed-fields';
import { CALL, callLine, ERASED_CALL, ERASURE, HELD_CALL, HOLD, PROJECT, type SendStatements } from '@crs/testing/tenant-rows';
import { changesOf, lineHashOf, type PreparedCall } from '../src/domain/changes.ts';
import { fieldMaskOf } from '../src/domain/view.ts';
import * as erase from '../src/store/erase.ts';
import * as erasures from '../src/store/erasures.ts';
import { exportCalls, findCalls, findLengths } from '../src/store/export-calls.ts';
import { feed, feedHeads, listChangesWithDetails } from '../src/store/feed.ts';
import { getCall } from '../src/store/get-call.ts';
import { getUserCall } from '../src/store/get-user-call.ts';
import * as importCalls from '../src/store/import-calls.ts';
import { listCalls, listDetails } from '../src/store/list-calls.ts';
import { listUserCalls } from '../src/store/list-user-calls.ts';
import * as holds from '../src/store/holds.ts';
import { ensureNameSecret } from '../src/store/name-secrets.ts';
import * as retention from '../src/store/retention.ts';
import { run as prepare } from '../src/store/prepare-call.ts';
import { projectSegments } from '../src/store/project-segments.ts';

const YEAR = { start: new Date('2025-01-01Z'), end: new Date('2026-01-01Z'), limit: 10 };
const FIRST_PAGE = { ...YEAR, offset: 0, updatedSince: undefined };
const CHANGED = { ...FIRST_PAGE, updatedSince: YEAR.start };
const VIEW = {
  mask: fieldMaskOf(ALLOWED_FIELDS),
  include: { verbatim: true, redacted: true, clean: true },
  anonymize: true,
};
const FEED_PAGE = { after: 0, deletedAfter: 0, limit: 10 };
const OWN_CALLS = { mine: true, visible: [], filters: {}, after: null, limit: 10 };
const LATER = { at: new Date('2100-01-01Z'), id: 'z' };

/** Every statement of the service. */
export const statements: SendStatements[] = [
  ({ id, annId }) => [
    listCalls(id, FIRST_PAGE),
    listCalls(id, { ...FIRST_PAGE, offset: 1 }),
    listCalls(id, CHANGED),
    listDetails(id, FIRST_PAGE, VIEW),
    listDetails(id, CHANGED, VIEW),
    getCall(id, CALL, VIEW),
    listUserCalls(id, { ...OWN_CALLS, userId: annId }),
    listUserCalls(id, { ...OWN_CALLS, userId: annId, after: LATER }),
    listUserCalls(id, { ...OWN_CALLS, userId: annId, mine: false, visible: [PROJECT] }),
    getUserCall(id, annId, [PROJECT], CALL, true),
    projectSegments(id, [PROJECT]),
    exportCalls(id, ''),
    findCalls(id, [CALL]),
    findLengths(id, [CALL]),
    feed.findSecret(id),
    feedHeads.list(new Date(0)),
    feed.list(id, FEED_PAGE),
    listChangesWithDetails(id, { ...FEED_PAGE, maxBytes: 1000 }, VIEW),
    erasures.listErasures(id, { since: new Date(0), after: null }),
    erasures.listErasures(id, { since: new Date(0), after: '00000000-0000-0000-0000-000000000000' }),
    erasures.findErasure(id, ERASURE),
    erasures.findErasure(id, ERASURE, 'lock'),
    erasures.findUnfinished(id, 'person'),
    erasures.findErasedCalls(id, ERASURE, [ERASED_CALL]),
    erasures.listErasedCalls(id, ERASURE, ''),
    erasures.countCalls(id),
    importCalls.findRepeated(id, [CALL], [lineHashOf(lineOf(id))]),
    importCalls.discardPlans(),
    holds.findHoldOfOrganization(id),
    holds.findHoldOfProject(id, PROJECT),
    holds.findHoldOfUser(id, annId),
    holds.findCallsToHold(id, [CALL]),
    holds.findNoteWriters(id, [CALL]),
    holds.findUsersOfProject(id, PROJECT),
    holds.countHolds(id),
    retention.nextCalls(id, '', 'date', LATER.at, 10),
    retention.nextCalls(id, '', 'created', LATER.at, 10),
    retention.findRun(id),
    holds.listHolds(id),
    holds.findCallsOfHold(id, HOLD),
  ],
  ({ id }) => [retention.putRun(id, { countedFor: new Date(), day: '2026-01-01', deleted: 8 })],
  async ({ id }, query) => {
    await holds.findHolds(query, id, [HELD_CALL]);
    const hold = { holdId: PROJECT, label: id, projectId: PROJECT, callIds: [CALL], createdAt: new Date(), createdBy: id };
    await holds.insertHold(query, id, hold);
  },
  async ({ id, annId }, query, connection) => {
    const { row, ...call } = preparedCall(id);
    await importCalls.stageCalls(query, connection, [{ row, position: 0 }]);
    const stored = await query(importCalls.findStored(id, [CALL]));
    const notes = call.notes.map(({ text }) => ({ userId: annId, text: text! }));
    // With another hash of its references, the call is written again.
    const hashes = { lineHash: lineHashOf(lineOf(id)), referencesHash: Buffer.of(1) };
    const changes = changesOf(stored, [{ ...call, ...hashes, position: 0, conductedBy: annId, notes }], new Date());
    await importCalls.writeCalls(query, connection, id, changes);
  },
  async ({ id, annId }, query) => {
    await query(holds.deleteHold(id, HOLD));
    await erase.eraseUser(query, id, annId);
    return [erase.eraseProjectCalls(id, PROJECT, 10)];
  },
  ({ id }) => [importCalls.deleteCalls(id, [CALL]), feed.eraseChanges(id, '')],
  ({ id }) => [holds.deleteHold(id, HOLD), erase.eraseCalls(id, '')],
  async ({ id }, query) => {
    const [entry] = await query(erasures.findErasure(id, ERASURE));
    return [
      erasures.beginErasure(id, entry!),
      erasures.advanceErasure(id, { ...entry!, changed: 1, reached: CALL }),
      erasures.addErasedCalls(id, ERASURE, ['another'], false),
      erasures.eraseErasedCalls(id, ''),
    ];
  },
  async ({ id }, query) => {
    await importCalls.moveDays(query, id, new Map([['2020-01-01', 1]]));
    await feed.append(query, id, [{ recordId: CALL, changedAt: new Date(), deleted: false }], new Date());
  },
  async ({ id }, query) => {
    await erase.eraseRest(query, id);
    await query(feedHeads.erase(id));
    await query(feed.erase(id));
    await ensureNameSecret(query, id);
    return [feed.begin(id)];
  },
];

const lineOf = (id: string) => Buffer.from(JSON.stringify(callLine(id)));

function preparedCall(id: string): PreparedCall {
  const parsed = prepare(lineOf(id));
  if (!('record' in parsed) || !('row' in parsed.record)) throw new Error('The line is refused.');
  return parsed.record;
}

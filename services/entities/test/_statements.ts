// Sends every SQL statement of the entities service, for testing/test/row-level-security.test.ts.

import { PROJECT, type SendStatements } from '@crs/testing/tenant-rows';
import * as entities from '../src/store/entities.ts';
import { feed, listChangesWithDetails, listOrganizationEntities } from '../src/store/feed.ts';
import { listEntities } from '../src/store/list-entities.ts';

const FIRST = '00000000-0000-0000-0000-000000000000';
const PAGE = { projectId: PROJECT, type: null, limit: 10 };
const LATER = { createdAt: new Date('2100-01-01Z'), entityId: FIRST };
const FEED_PAGE = { after: 0, deletedAfter: 0, limit: 10 };

/** Every statement of the service. */
export const statements: SendStatements[] = [
  ({ id }) => [
    listEntities(id, { ...PAGE, after: null }),
    listEntities(id, { ...PAGE, after: LATER }),
    entities.exportEntities(id, null),
    entities.findStored(id, [PROJECT]),
    entities.findEntities(id, [PROJECT]),
    entities.findLengths(id, [PROJECT]),
    entities.deleteEntities(id, [PROJECT]),
  ],
  ({ id }) => [entities.eraseEntities(id, FIRST)],
  ({ id }) => [entities.eraseProjectEntities(id, PROJECT, 10)],
  async ({ id }, query) => {
    const [stored] = await query(entities.exportEntities(id, null));
    return [entities.putEntities(id, [{ ...stored!, name: `${id} again`, recordHash: Buffer.of(1) }])];
  },
  async ({ id }, query) => {
    await feed.append(query, id, [{ recordId: PROJECT, changedAt: new Date(), deleted: false }], new Date());
    return [
      feed.findSecret(id),
      feed.list(id, FEED_PAGE),
      listChangesWithDetails(id, { ...FEED_PAGE, maxBytes: 1000 }),
      listOrganizationEntities(id, undefined, 10),
      listOrganizationEntities(id, { createdAt: LATER.createdAt, recordId: FIRST }, 10),
      feed.eraseChanges(id, FIRST),
    ];
  },
  async ({ id }, query) => {
    await query(feed.erase(id));
    return [feed.begin(id)];
  },
];

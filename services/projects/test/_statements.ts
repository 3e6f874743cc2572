// Sends every SQL statement of the projects service, for testing/test/row-level-security.test.ts.

import { CREATION, LEASE, PROJECT, type SendStatements } from '@crs/testing/tenant-rows';
import type { StoredResponse } from '../src/domain/stored-response.ts';
import * as offices from '../src/store/billing-offices.ts';
import * as creations from '../src/store/creations.ts';
import { feed, listChangesWithDetails, listOrganizationProjects } from '../src/store/feed.ts';
import { listAllProjects, listProjects } from '../src/store/list-projects.ts';
import * as projects from '../src/store/projects.ts';

const FIRST = '00000000-0000-0000-0000-000000000000';
const BODY = Buffer.alloc(0);
const PAGE = { projectIds: [PROJECT], includeArchived: true, limit: 10 };
const LATER = { createdAt: new Date('2100-01-01Z'), projectId: FIRST };
const FEED_PAGE = { after: 0, deletedAfter: 0, limit: 10 };

/** Every statement of the service. */
export const statements: SendStatements[] = [
  async ({ id }, query) => {
    await offices.putBillingOffice(query, id, { name: 'Paris', isDefault: true });
    return [
      offices.listBillingOffices(id),
      offices.findBillingOffice(id, null),
      offices.exportOffices(id, ''),
      offices.eraseBillingOffices(id),
    ];
  },
  async ({ id }, query) => void (await creations.reserve(query, id, CREATION.old, BODY)),
  async ({ id }, query) => void (await creations.reserve(query, id, CREATION.abandoned, BODY)),
  ({ id, annId }) => [
    creations.lockKey(id, CREATION.completed, PROJECT),
    creations.removePerson(id, annId),
    creations.pruneCreations(id, new Date()),
    creations.expireLease(id, LEASE, CREATION.abandoned),
    creations.release(id, LEASE, CREATION.abandoned),
  ],
  ({ id }) => [creations.storeResponse(id, CREATION.abandoned, { name: id } as StoredResponse)],
  ({ id }) => [creations.eraseCreations(id, '')],
  ({ id }) => [
    projects.getProject(id, PROJECT),
    projects.findProjects(id, [PROJECT]),
    projects.findLengths(id, [PROJECT]),
    projects.exportProjects(id, null),
    listProjects(id, { ...PAGE, after: null }),
    listProjects(id, { ...PAGE, after: LATER }),
    listAllProjects(id, null, 10),
    listAllProjects(id, LATER, 10),
    projects.eraseProjects(id, FIRST),
  ],
  async ({ id }, query) => {
    const stored = await query(projects.getProject(id, PROJECT));
    await query(projects.putProjects(id, stored));
    await projects.eraseProject(query, id, PROJECT);
  },
  async ({ id }, query) => {
    await feed.append(query, id, [{ recordId: PROJECT, changedAt: new Date(), deleted: false }], new Date());
    return [
      feed.findSecret(id),
      feed.list(id, FEED_PAGE),
      listChangesWithDetails(id, { ...FEED_PAGE, maxBytes: 1000 }),
      listOrganizationProjects(id, undefined, 10),
      listOrganizationProjects(id, { createdAt: LATER.createdAt, recordId: FIRST }, 10),
      feed.eraseChanges(id, FIRST),
    ];
  },
  async ({ id }, query) => {
    await query(feed.erase(id));
    return [feed.begin(id)];
  },
];

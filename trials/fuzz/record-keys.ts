/** Organizations that keys write to, with the same ids in each, and keys of theirs with each right. */
import type { Connection } from '@crs/crs/connection';
import { createKey } from '@crs/testing/credentials';
import { load } from '@crs/testing/load';
import { entityIdOf, HOLD, IDS } from './record-lines.ts';
import { EMAILS, PROJECTS } from './records.ts';
import type { Credential } from './request.ts';

/** A key whose organization has records to write. Without these properties: nobody's. */
export interface RecordKey extends Credential {
  organization?: string;
  rights?: string[];
}

export const ORGANIZATIONS = ['north', 'south'];
/** Deletions that the keys of one organization may make in an hour, which the run exceeds. */
export const SCARCE_DELETIONS = { organization: 'south', limit: 2 };

const PLENTY = { requests: 900_000_000, period_seconds: 3_600 };

/** Fills the organizations, and puts calls of one on legal hold. @returns their keys */
export async function createRecordKeys(operator: Connection): Promise<RecordKey[]> {
  await load(operator, ORGANIZATIONS.flatMap(recordsOf));
  const hold = { label: 'Fuzz', projectId: undefined, callIds: IDS.held };
  await operator.calls.createHold(hold, await operator.operator(HOLD.organization));
  const key = async (organization: string, rights: string[], networks: string[] = []): Promise<RecordKey> => ({
    name: `a key of ${organization} for ${rights.join()}`,
    header: `Bearer ${await createKey(operator, organization, { rights, networks })}`,
    isUsable: networks.length === 0,
    foreign: ['mark-'],
    organization,
    rights,
  });
  return Promise.all([
    ...ORGANIZATIONS.flatMap((organization) => [
      key(organization, ['ingest', 'delete']),
      key(organization, ['read', 'write', 'ingest', 'delete']),
      key(organization, ['ingest']),
      key(organization, ['delete']),
      key(organization, ['read', 'write']),
    ]),
    // From another address than the sender's.
    key('north', ['ingest', 'delete'], ['192.0.2.0/24']),
  ]);
}

function recordsOf(organization: string): object[] {
  const { limit } = SCARCE_DELETIONS;
  const deleteLimit = organization === SCARCE_DELETIONS.organization ? limit : PLENTY.requests;
  return [
    { type: 'organization', id: organization, name: organization, rate_limit: PLENTY, delete_limit: deleteLimit },
    ...[EMAILS.ann, EMAILS.bob].map((email) => ({ type: 'user', organization, email, name: email })),
    ...PROJECTS.map((id) => ({ type: 'project', organization, id, name: `mark-${organization}` })),
    ...[...IDS.kept, `only_${organization}`].map((id) => ({ type: 'call', organization, id, summary: `mark-${organization}` })),
    ...IDS.held.map((id) => ({ type: 'call', organization, id, project_id: HOLD.project, summary: `mark-${organization}` })),
    ...IDS.kept.map((id) => ({
      type: 'entity',
      organization,
      id: entityIdOf(id),
      project_id: PROJECTS[0],
      name: `mark-${organization}`,
    })),
  ];
}

// Legal holds of an organization, and the ways by which its calls could disappear.

import type { EraseRequest } from '@crs/proto/crs/erasures/v1/erasures';
import { tenant, type World } from '@crs/testing/world';
import { callLine, PROJECT, tenantRecords } from './_records.ts';

export const OTHER_PROJECT = '11111111-2222-4333-8444-666666666666';
export const [ANN, BOB] = ['ann@crs.example', 'bob@crs.example'] as const;

/** Creates an organization with two projects, whose calls and users have the same ids and e-mails in every such organization. */
export async function fillForHolds(world: World, name: string): Promise<string> {
  const id = tenant(name);
  await world.load([
    ...tenantRecords(id),
    { type: 'project', organization: id, id: OTHER_PROJECT },
    callLine(id, 'in-project', { project_id: PROJECT, conducted_by: ANN }),
    callLine(id, 'noted', { project_id: PROJECT, notes: [{ email: BOB, text: 'x' }] }),
    callLine(id, 'elsewhere', { project_id: OTHER_PROJECT, conducted_by: BOB }),
    callLine(id, 'alone'),
  ]);
  return id;
}

/** Operations on the holds of one organization. */
export function holdsOf({ operator }: World, organization: string) {
  const token = () => operator.operator(organization);
  const create = async (kept: { projectId?: string; callIds?: readonly string[] }) => {
    const { projectId, callIds = [] } = kept;
    return (await operator.calls.createHold({ label: 'SEC 26-14', projectId, callIds: [...callIds] }, await token())).holdId;
  };
  return {
    create,
    release: async (holdId: string) => void (await operator.calls.releaseHold({ holdId }, await token())),
    list: async () => (await operator.calls.listHolds({}, await token())).holds,
    /** Sends the step of a deletion at calls, without the first one, which checks for holds too. */
    erase: async (target: EraseRequest['target']) => operator.erasers.calls.erase({ target }, await token()),
  };
}

export async function storedCalls(world: World, organization: string): Promise<string[]> {
  const { rows } = await world.query('select call_id as id from calls.calls where organization = $1 order by 1', [organization]);
  return rows.map(({ id }) => id);
}

export const deletion = (organization: string, type: string, id: string) => ({
  type,
  organization,
  [type === 'user' ? 'email' : 'id']: id,
  deleted: true,
});

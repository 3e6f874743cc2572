// How tests set and run the retention of an organization's calls.

import type { OrganizationSettings } from '@crs/proto/crs/auth/v1/admin';
import type { World } from '@crs/testing/world';

type Retention = Pick<OrganizationSettings, 'retainCalls' | 'retainBy' | 'retainPerDay'>;

export async function setRetention({ operator }: World, organization: string, settings: Retention): Promise<void> {
  await operator.auth.updateOrganization({ settings: settings as OrganizationSettings }, await operator.operator(organization));
}

/** Makes a pass over all calls of an organization, as `crs retention run` does. */
export async function runRetention({ operator }: World, organization: string): Promise<{ due: number; deleted: number }> {
  const total = { due: 0, deleted: 0 };
  let after = '';
  do {
    const { due, deleted, next } = await operator.calls.runRetention({ after }, await operator.operator(organization));
    total.due += due;
    total.deleted += deleted;
    after = next;
  } while (after !== '');
  return total;
}

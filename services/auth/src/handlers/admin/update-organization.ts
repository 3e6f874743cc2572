import { rpc } from '@crs/kit/grpc-server';
import { operatorScope } from '@crs/kit/operator-scope';
import type { UpdateOrganizationRequest, UpdateOrganizationResponse } from '@crs/proto/crs/auth/v1/admin';
import type { Context } from '../../context.ts';
import { noSuchOrganization } from '../../domain/not-found.ts';
import { parseSettings, toOrganization } from '../../domain/settings.ts';
import { audit } from '../../store/audit.ts';
import { findOrganization, updateOrganization as update } from '../../store/organizations.ts';

export function updateOrganization({ db }: Context) {
  return rpc(['operator'], async (request: UpdateOrganizationRequest, call): Promise<UpdateOrganizationResponse> => {
    const scope = operatorScope(call);
    const change = parseSettings(request.settings);
    return db.transact(scope, async (query) => {
      await update(query, scope.organization, change);
      const organization = await findOrganization(query, scope.organization);
      if (!organization) throw noSuchOrganization();
      await audit(query, call.identity, 'organization.update', scope.organization);
      return { organization: toOrganization(organization) };
    });
  });
}

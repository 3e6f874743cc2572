import { callerScope } from '@crs/kit/data/scope';
import { invalid, ServiceError } from '@crs/kit/errors';
import { rpc } from '@crs/kit/rpc/server';
import type { CreateOrganizationRequest, CreateOrganizationResponse } from '@crs/proto/crs/auth/v1/admin';
import { toOrganization } from '../../answers.ts';
import type { Context } from '../../context.ts';
import { changeOidcProvider } from '../../domain/oidc-provider.ts';
import { parseSettings } from '../../domain/settings.ts';
import { operatorEntry } from '../../store/audit.ts';
import { findOrganization, insertOrganization } from '../../store/organizations.ts';

export function createOrganization({ db, providerSecrets }: Context) {
  return rpc(['operator'], async (request: CreateOrganizationRequest, call): Promise<CreateOrganizationResponse> => {
    const scope = callerScope(call);
    const change = parseSettings(request.settings);
    if (change.name === undefined) throw invalid('name', 'is required');
    const provider = changeOidcProvider(undefined, request.settings?.oidcProvider, (plain) =>
      providerSecrets.seal(Buffer.from(plain), scope.organization),
    );
    return db.transact(scope, async (query) => {
      const [inserted] = await query(insertOrganization(scope.organization, { ...change, ...provider }));
      if (!inserted) {
        throw new ServiceError('already_exists', `An organization with this id exists. To change it, use "org update".`, {
          field: 'organization',
        });
      }
      await query(operatorEntry(call.identity, 'organization.create', scope.organization));
      if (provider.oidcIssuer)
        await query(operatorEntry(call.identity, 'organization.oidc', `${scope.organization} ${provider.oidcIssuer}`));
      const [organization] = await query(findOrganization(scope.organization));
      return { organization: toOrganization(organization!) };
    });
  });
}

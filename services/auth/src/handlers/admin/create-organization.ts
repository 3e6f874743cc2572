import { invalid, ServiceError } from '@crs/kit/errors';
import { rpc } from '@crs/kit/rpc/server';
import { callerScope } from '@crs/kit/data/scope';
import type { CreateOrganizationRequest, CreateOrganizationResponse } from '@crs/proto/crs/auth/v1/admin';
import type { Context } from '../../context.ts';
import { changeOidcProvider } from '../../domain/oidc-provider.ts';
import { parseSettings, toOrganization } from '../../domain/settings.ts';
import { audit } from '../../store/audit.ts';
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
      if (!(await insertOrganization(query, scope.organization, { ...change, ...provider }))) {
        throw new ServiceError('already_exists', `An organization with this id exists. To change it, use "org update".`, {
          field: 'organization',
        });
      }
      await audit(query, call.identity, 'organization.create', scope.organization);
      if (provider.oidcIssuer)
        await audit(query, call.identity, 'organization.oidc', `${scope.organization} ${provider.oidcIssuer}`);
      return { organization: toOrganization((await findOrganization(query, scope.organization))!) };
    });
  });
}

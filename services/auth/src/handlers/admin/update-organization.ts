import { rpc } from '@crs/kit/rpc/server';
import { callerScope } from '@crs/kit/data/scope';
import type { UpdateOrganizationRequest, UpdateOrganizationResponse } from '@crs/proto/crs/auth/v1/admin';
import type { Context } from '../../context.ts';
import { noSuchOrganization } from '../../domain/not-found.ts';
import { changeOidcProvider } from '../../domain/oidc-provider.ts';
import { parseSettings, toOrganization } from '../../domain/settings.ts';
import { audit } from '../../store/audit.ts';
import { findOrganization, updateOrganization as update } from '../../store/organizations.ts';

export function updateOrganization({ db, providerSecrets }: Context) {
  return rpc(['operator'], async (request: UpdateOrganizationRequest, call): Promise<UpdateOrganizationResponse> => {
    const scope = callerScope(call);
    const change = parseSettings(request.settings);
    return db.transact(scope, async (query) => {
      const before = await findOrganization(query, scope.organization);
      if (!before) throw noSuchOrganization();
      const provider = changeOidcProvider(before, request.settings?.oidcProvider, (plain) =>
        providerSecrets.seal(Buffer.from(plain), scope.organization),
      );
      await update(query, scope.organization, { ...change, ...provider });
      const after = (await findOrganization(query, scope.organization))!;
      await audit(query, call.identity, 'organization.update', scope.organization);
      // Who decides who signs in is worth an entry of its own.
      if (request.settings?.oidcProvider)
        await audit(query, call.identity, 'organization.oidc', `${scope.organization} ${after.oidcIssuer ?? 'none'}`);
      return { organization: toOrganization(after) };
    });
  });
}

import { callerScope } from '@crs/kit/data/scope';
import { rpc } from '@crs/kit/rpc/server';
import type { UpdateOrganizationRequest, UpdateOrganizationResponse } from '@crs/proto/crs/auth/v1/admin';
import { toOrganization } from '../../answers.ts';
import type { Context } from '../../context.ts';
import { noSuchOrganization } from '../../domain/not-found.ts';
import { changeOidcProvider } from '../../domain/oidc-provider.ts';
import { parseSettings } from '../../domain/settings.ts';
import { operatorEntry } from '../../store/audit.ts';
import { findOrganization, updateOrganization as update } from '../../store/organizations.ts';

export function updateOrganization({ db, providerSecrets }: Context) {
  return rpc(['operator'], async (request: UpdateOrganizationRequest, call): Promise<UpdateOrganizationResponse> => {
    const scope = callerScope(call);
    const change = parseSettings(request.settings);
    return db.transact(scope, async (query) => {
      const [before] = await query(findOrganization(scope.organization));
      if (!before) throw noSuchOrganization();
      const provider = changeOidcProvider(before, request.settings?.oidcProvider, (plain) =>
        providerSecrets.seal(Buffer.from(plain), scope.organization),
      );
      const statement = update(scope.organization, { ...change, ...provider });
      if (statement) await query(statement);
      const [after] = await query(findOrganization(scope.organization));
      await query(operatorEntry(call.identity, 'organization.update', scope.organization));
      // The provider decides who may sign in, so its change has an entry of its own.
      if (request.settings?.oidcProvider)
        await query(operatorEntry(call.identity, 'organization.oidc', `${scope.organization} ${after!.oidcIssuer ?? 'none'}`));
      return { organization: toOrganization(after!) };
    });
  });
}

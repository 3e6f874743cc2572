import { toOrganization } from '../../answers.ts';
import { noSuchOrganization } from '../../domain/not-found.ts';
import { changeOidcProvider, requireMayClaim } from '../../domain/oidc-provider.ts';
import { changesOf } from '../../domain/setting-changes.ts';
import { parseSettings } from '../../domain/settings.ts';
import { findOrganization, updateOrganization as update } from '../../store/organizations.ts';
import { setsView, untilViewsFollow } from '../../view-settings.ts';
import { claimDomains } from './claim-domains.ts';
import { operatorRpc } from './operator-rpc.ts';

export const updateOrganization = operatorRpc<'updateOrganization'>(
  { action: 'organization.update', roles: ['admin', 'manager'], token: 'one', bound: true },
  async (request, { seals, organization, rights, toolsUrl, transact }) => {
    const change = parseSettings(request.settings);
    const answer = await transact(async (query, audit) => {
      const [before] = await query(findOrganization(organization));
      if (!before) throw noSuchOrganization();
      const provider = changeOidcProvider(before, request.settings?.oidcProvider, (plain) =>
        seals.organizations.seal(Buffer.from(plain), organization),
      );
      requireMayClaim(rights, before, provider);
      await claimDomains(query, organization, provider);
      const statement = update(organization, { ...change, ...provider });
      if (statement) await query(statement);
      const [after] = await query(findOrganization(organization));
      const changes = changesOf(before, after!, request.settings?.oidcProvider?.clientSecret !== undefined);
      await audit('organization.update', organization, changes);
      // The provider decides who may sign in, so its change has an entry of its own.
      if (request.settings?.oidcProvider) await audit('organization.oidc', `${organization} ${after!.oidcIssuer ?? 'none'}`);
      return { organization: toOrganization(after!, toolsUrl) };
    });
    if (setsView(change)) await untilViewsFollow();
    return answer;
  },
);

import { invalid, ServiceError } from '@crs/kit/errors';
import { toOrganization } from '../../answers.ts';
import { changeOidcProvider } from '../../domain/oidc-provider.ts';
import { changesOf } from '../../domain/setting-changes.ts';
import { parseSettings } from '../../domain/settings.ts';
import { findOrganization, insertOrganization } from '../../store/organizations.ts';
import { claimDomains } from './claim-domains.ts';
import { operatorRpc } from './operator-rpc.ts';

export const createOrganization = operatorRpc<'createOrganization'>(
  { action: 'organization.create', roles: ['admin', 'manager'], token: 'one', bound: false },
  async (request, { seals, organization, toolsUrl, transact }) => {
    const change = parseSettings(request.settings);
    if (change.name === undefined) throw invalid('name', 'is required');
    const provider = changeOidcProvider(undefined, request.settings?.oidcProvider, (plain) =>
      seals.organizations.seal(Buffer.from(plain), organization),
    );
    return transact(async (query, audit) => {
      const [inserted] = await query(insertOrganization(organization, { ...change, ...provider }));
      if (!inserted) {
        throw new ServiceError('already_exists', `An organization with this id exists. To change it, use "org update".`, {
          field: 'organization',
        });
      }
      await claimDomains(query, organization, provider);
      const [created] = await query(findOrganization(organization));
      const changes = changesOf(undefined, created!, created!.oidcHasClientSecret);
      await audit('organization.create', organization, changes);
      if (provider.oidcIssuer) await audit('organization.oidc', `${organization} ${provider.oidcIssuer}`);
      return { organization: toOrganization(created!, toolsUrl) };
    });
  },
);

import { Option, type Command } from 'commander';
import type { ListedScimGroupMap } from '@crs/proto/crs/auth/v1/admin';
import { connected, tenantCommand, type TenantOptions } from '../command.ts';
import { layOutWithSecret, show, timestamp, toJson } from '../output.ts';
import { confirm, withConsent, type ConsentOptions } from '../prompt.ts';
import { ROLES } from './member.ts';

interface MapOptions extends TenantOptions {
  group: string;
  project: string;
  role: keyof typeof ROLES;
}

/** `crs scim`: the tokens of an organization's directory, and the roles that its groups give. */
export function scimCommands(program: Command): void {
  const scim = program.command('scim').description("tokens of an organization's directory (SCIM), and roles of its groups");

  tenantCommand(scim, 'create', 'create a SCIM token for the directory, shown this once')
    .option('--label <label>', 'purpose of the token, at most 100 characters', '')
    .action((options: TenantOptions & { label: string }) =>
      connected(async ({ auth, operator }) => {
        const { scimToken, secret } = await auth.createScimToken({ label: options.label }, await operator(options.org));
        const value = { token_id: scimToken!.tokenId, token: secret, ...toJson(scimToken!) };
        show(options, value, () => layOutWithSecret(value, 'token'));
      }),
    );

  tenantCommand(scim, 'list', 'list SCIM tokens, newest first, revoked ones included').action((options: TenantOptions) =>
    connected(async ({ auth, operator }) => {
      const { scimTokens } = await auth.listScimTokens({}, await operator(options.org));
      show(options, { data: scimTokens.map(toJson) });
    }),
  );

  withConsent(tenantCommand(scim, 'revoke', 'revoke a SCIM token, with effect at once; this cannot be undone'))
    .argument('<token-id>', 'id of the token')
    .action(async (tokenId: string, options: TenantOptions & ConsentOptions) => {
      await confirm(`This revokes the SCIM token ${tokenId} of ${options.org}`, options);
      return connected(async ({ auth, operator }) => {
        const { scimToken } = await auth.revokeScimToken({ tokenId }, await operator(options.org));
        const at = timestamp(scimToken!.revokedAt);
        show(options, toJson(scimToken!), () => `SCIM token ${tokenId} was revoked at ${at}.`);
      });
    });

  const forMap = (verb: string, summary: string) =>
    tenantCommand(scim, verb, summary)
      .requiredOption('--group <name>', "name of the directory's group, in any case")
      .requiredOption('--project <id>', 'id of the project')
      .addOption(new Option('--role <role>', 'the role').choices(Object.keys(ROLES)).makeOptionMandatory());

  forMap('map', 'give the members of a group a role in a project, now and later; the group may come later')
    .addHelpText('after', '\nExamples:\n  crs scim map --org acme --group "Research EU" --project UUID --role member')
    .action((options: MapOptions) =>
      connected(async ({ auth, operator }) => {
        const { members } = await auth.mapScimGroup({ map: mapOf(options) }, await operator(options.org));
        const { group, project, role } = options;
        const value = { group, project_id: project, role, members: members ?? null };
        const whose = members === undefined ? 'The directory has no such group yet' : `It has ${members} members now`;
        show(options, value, () => `Members of "${group}" are ${role} of ${project}. ${whose}.`);
      }),
    );

  forMap('unmap', 'end such a role, with effect at once').action((options: MapOptions) =>
    connected(async ({ auth, operator }) => {
      await auth.unmapScimGroup({ map: mapOf(options) }, await operator(options.org));
      const { group, project, role } = options;
      show(options, { group, project_id: project, role }, () => `"${group}" no longer makes anybody ${role} of ${project}.`);
    }),
  );

  tenantCommand(scim, 'maps', 'list the roles that groups give, with the number of their members').action(
    (options: TenantOptions) =>
      connected(async ({ auth, operator }) => {
        const { maps } = await auth.listScimGroupMaps({}, await operator(options.org));
        show(options, { data: maps.map(mapJson) });
      }),
  );
}

function mapOf({ group, project, role }: MapOptions) {
  return { group, projectId: project, role: ROLES[role] };
}

function mapJson({ map, members }: ListedScimGroupMap) {
  const { group, projectId, role } = map!;
  return { group, project_id: projectId, role: role.replace('PROJECT_ROLE_', '').toLowerCase(), members: members ?? null };
}

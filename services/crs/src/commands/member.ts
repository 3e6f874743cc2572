import { Option, type Command } from 'commander';
import { connected, tenantCommand, type TenantOptions } from '../command.ts';
import { show } from '../output.ts';

/** The roles of a project, by their names in options. */
export const ROLES = { lead: 'PROJECT_ROLE_LEAD', member: 'PROJECT_ROLE_MEMBER' } as const;

type MemberOptions = TenantOptions & { project: string; user: string; role: keyof typeof ROLES };

/** `crs member`: the users who lead or see a project. */
export function memberCommands(program: Command): void {
  const member = program.command('member').description('the users who lead or see a project');

  for (const [verb, method, summary, said] of [
    ['add', 'addMember', 'give a user a role in a project', 'is now'],
    ['remove', 'removeMember', "remove a user's role in a project, with effect at once", 'is no longer'],
  ] as const) {
    tenantCommand(member, verb, summary)
      .requiredOption('--project <id>', 'id of the project')
      .requiredOption('--user <email>', 'e-mail of the user')
      .addOption(new Option('--role <role>', 'the role').choices(Object.keys(ROLES)).makeOptionMandatory())
      .action((options: MemberOptions) =>
        connected(async ({ auth, operator }) => {
          const { project, user, role } = options;
          const request = { projectId: project, email: user, role: ROLES[role] };
          const response: { groups?: string[] } = await auth[method](request, await operator(options.org));
          const value = { project_id: project, email: user, role };
          if (!response.groups?.length) show(options, value, () => `${user} ${said} ${role} of ${project}.`);
          else show(options, { ...value, groups: response.groups }, () => stillHas(options, response.groups!));
        }),
      );
  }
}

function stillHas({ user, role, project }: MemberOptions, groups: string[]): string {
  const names = groups.map((group) => `"${group}"`).join(', ');
  return `${user} is still ${role} of ${project}, by the directory's group ${names}.`;
}

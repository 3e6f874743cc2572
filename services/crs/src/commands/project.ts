import type { Command } from 'commander';
import type { ListedProject, ProjectPlace } from '@crs/proto/crs/projects/v1/admin';
import { connected, tenantCommand, type Connect, type TenantOptions } from '../command.ts';
import { instant, show, table } from '../output.ts';

/** `crs project`: projects of an organization. */
export function projectCommands(program: Command, connect: Connect): void {
  const project = program.command('project').description('projects of an organization');

  tenantCommand(project, 'list', 'list projects, newest first, archived ones included').action((options: TenantOptions) =>
    connected(connect, async ({ projects, operator }) => {
      const all: ListedProject[] = [];
      let after: ProjectPlace | undefined;
      do {
        const page = await projects.listProjects({ limit: 0, after }, await operator(options.org));
        all.push(...page.projects);
        after = page.next;
      } while (after);
      show(options, { data: all.map(toJson) }, () =>
        table(
          ['project id', 'name', 'status', 'archived', 'billing office', 'created'],
          all
            .map(toJson)
            .map((each) => [
              each.project_id,
              each.name,
              each.status,
              each.is_archived,
              each.billing_office_name,
              each.created_at,
            ]),
        ),
      );
    }),
  );
}

function toJson(project: ListedProject) {
  return {
    project_id: project.projectId,
    name: project.name ?? null,
    status: project.status ?? null,
    is_archived: project.isArchived,
    billing_office_name: project.billingOfficeName ?? null,
    created_at: instant(project.createdAt),
  };
}

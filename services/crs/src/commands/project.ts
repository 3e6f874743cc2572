import type { Command } from 'commander';
import type { ListedProject, ProjectPlace } from '@crs/proto/crs/projects/v1/admin';
import { connected, tenantCommand, type TenantOptions } from '../command.ts';
import { show, toJson } from '../output.ts';

/** `crs project`: projects of an organization. */
export function projectCommands(program: Command): void {
  const project = program.command('project').description('projects of an organization');

  tenantCommand(project, 'list', 'list projects, newest first, archived ones included').action((options: TenantOptions) =>
    connected(async ({ projects, operator }) => {
      const all: ListedProject[] = [];
      let after: ProjectPlace | undefined;
      do {
        const page = await projects.listProjects({ limit: 0, after }, await operator(options.org));
        all.push(...page.projects);
        after = page.next;
      } while (after);
      show(options, { data: all.map(toJson) });
    }),
  );
}

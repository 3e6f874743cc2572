import type { Command } from 'commander';
import type { RunRetentionRequest } from '@crs/proto/crs/calls/v1/admin';
import { command, connected } from '../command.ts';
import type { Connection } from '../connection.ts';
import { show, type OutputOptions } from '../output.ts';

/** `crs retention`: deletes what organizations no longer keep. */
export function retentionCommands(program: Command): void {
  const retention = program.command('retention').description('deletion of what organizations no longer keep');

  command(retention, 'run', 'delete the calls that organizations no longer keep, as `crs org update --retain-calls` says')
    .addHelpText(
      'after',
      `
The first run after a change of an organization's --retain-* settings only counts. Calls on hold stay. Run it once a day.`,
    )
    .action((options: OutputOptions) =>
      connected(async (connection) => {
        const { organizations } = await connection.auth.listOrganizations({}, await connection.operator());
        const data = [];
        for (const { organizationId: organization, retainCalls } of organizations)
          if (retainCalls !== 'none') data.push({ organization, ...(await runFor(connection, organization)) });
        show(options, { data });
      }),
    );
}

/** Makes a pass over all calls of an organization. */
async function runFor({ calls, operator }: Connection, organization: string): Promise<{ due: number; deleted: number }> {
  const { retrying } = await import('../retry.ts');
  const send = retrying(async (request: RunRetentionRequest) => calls.runRetention(request, await operator(organization)));
  const total = { due: 0, deleted: 0 };
  let after = '';
  do {
    const { due, deleted, next } = await send({ after });
    total.due += due;
    total.deleted += deleted;
    after = next;
  } while (after !== '');
  return total;
}

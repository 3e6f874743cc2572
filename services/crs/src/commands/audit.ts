import type { Command } from 'commander';
import { limit, organizationId } from '../arguments.ts';
import { command, connected, type Connect } from '../command.ts';
import { instant, show, table, type OutputOptions } from '../output.ts';

/** `crs audit`: the audit trail. */
export function auditCommand(program: Command, connect: Connect): void {
  command(program, 'audit', 'show actions of operators, and sign-ins, newest first')
    .option('--org <org>', 'only entries of this organization', organizationId)
    .option('--limit <n>', 'number of entries, 1 to 1000', limit, 100)
    .action((options: OutputOptions & { org?: string; limit: number }) =>
      connected(connect, async ({ auth, operator }) => {
        const { entries } = await auth.listAudit({ limit: options.limit }, await operator(options.org));
        const rows = entries.map((entry) => ({
          at: instant(entry.at),
          actor: entry.actor,
          action: entry.action,
          organization_id: entry.organizationId || null,
          target: entry.target,
        }));
        show(options, { data: rows }, () => table(['at', 'actor', 'action', 'organization', 'target'], rows.map(Object.values)));
      }),
    );
}

import type { Command } from 'commander';
import type { AuditEntry } from '@crs/proto/crs/auth/v1/admin';
import { entryId, limit, organizationId } from '../arguments.ts';
import { command, connected } from '../command.ts';
import type { Connection } from '../connection.ts';
import { describe } from '../failure.ts';
import { timestamp, printable, show, showError, table, type OutputOptions } from '../output.ts';

interface AuditOptions extends OutputOptions {
  org?: string;
  limit: number;
  follow?: true;
  after?: number;
}

/** `crs audit`: the audit trail. */
export function auditCommand(program: Command): void {
  const audit = command(program, 'audit', 'show actions of operators, and sign-ins, newest first')
    .option('--org <org>', 'only entries of this organization', organizationId)
    .option('--limit <n>', 'number of entries, 1 to 1000', limit, 100)
    .option('--follow', 'show the newest entries, oldest first, and then each new one, until it is stopped')
    .option('--after <id>', 'with --follow: begin after this entry, such as the last one that was shown before', entryId)
    .addHelpText(
      'after',
      `
With --follow and --json, each entry is one JSON object on a line of its own, for a program that collects events:
  crs audit --follow --json >> audit.ndjson`,
    )
    .action((options: AuditOptions) => {
      if (options.after !== undefined && !options.follow) audit.error('error: --after needs --follow');
      return connected((connection) => (options.follow ? followTrail(connection, options) : list(connection, options)));
    });
}

async function list({ auth, operator }: Connection, options: AuditOptions): Promise<void> {
  const { entries } = await auth.listAudit({ limit: options.limit }, await operator(options.org));
  show(options, { data: entries.map(toJson) }, () => table(HEAD, entries.map(toRow)));
}

async function followTrail({ auth, operator }: Connection, options: AuditOptions): Promise<void> {
  const { follow } = await import('../audit/follow.ts');
  const read = async (request: { limit: number; afterId?: number }) =>
    (await auth.listAudit(request, await operator(options.org))).entries;
  const start = options.after ?? ((await read({ limit: options.limit })).at(-1)?.id ?? 1) - 1;
  let isAway = false;
  const trail = {
    after: async (afterId: number, count: number) => {
      const entries = await read({ limit: count, afterId });
      isAway = false;
      return entries;
    },
    onOutage: (error: Error) => {
      if (!isAway) showError(options.json === true, describe(error));
      isAway = true;
    },
  };
  for await (const entry of follow(trail, start)) {
    show(options, toJson(entry), () =>
      printable(
        toRow(entry)
          .map((cell) => cell ?? '-')
          .join('  '),
      ),
    );
  }
}

const HEAD = ['at', 'actor', 'action', 'organization', 'target', 'outcome', 'count', 'address', 'changes'];

function toRow(entry: AuditEntry) {
  const changes = entry.changes.map(({ setting, from, to }) => `${setting}: ${from} -> ${to}`).join('; ');
  const { actor, action, organizationId: organization, target, outcome, count, address } = entry;
  return [timestamp(entry.at), actor, action, organization || null, target, outcome, count, address || null, changes || null];
}

function toJson(entry: AuditEntry) {
  return {
    id: entry.id,
    at: timestamp(entry.at),
    actor: entry.actor,
    action: entry.action,
    organization_id: entry.organizationId || null,
    target: entry.target,
    outcome: entry.outcome,
    count: entry.count,
    address: entry.address || null,
    changes: Object.fromEntries(
      entry.changes.map(({ setting, from, to }) => [
        setting,
        { from: JSON.parse(from) as unknown, to: JSON.parse(to) as unknown },
      ]),
    ),
  };
}

import type { Command } from 'commander';
import type { Access } from '@crs/proto/crs/auth/v1/admin';
import { connected, tenantCommand, type TenantOptions } from '../command.ts';
import type { Connection } from '../connection.ts';
import { printable, show, timestamp } from '../output.ts';

const COLUMNS = ['kind', 'who', 'project', 'role', 'source', 'given_by', 'since', 'last_use'] as const;
type Row = Record<(typeof COLUMNS)[number], string | null>;

/** `crs access-review`: who may see what. */
export function accessReviewCommand(program: Command): void {
  tenantCommand(program, 'access-review', 'print who may see what, by whom it was given and its last use, as CSV')
    .addHelpText(
      'after',
      `
A row is one way to see one project; a user without a project sees only the calls that they conducted. A key sees the whole organization.
Disabled users, and expired and revoked keys, are left out. The audit trail tells who gave a role or a key, as far back as it reaches.

Example:
  crs access-review --org acme > acme-access.csv`,
    )
    .action((options: TenantOptions) =>
      connected(async (connection) => {
        const rows = await readAll(connection, options.org);
        show(options, { data: rows }, () => [COLUMNS.join(','), ...rows.map(toLine)].join('\r\n'));
      }),
    );
}

async function readAll({ auth, operator }: Connection, organization: string): Promise<Row[]> {
  const rows: Row[] = [];
  let after = '';
  do {
    const { accesses, next } = await auth.reviewAccess({ after }, await operator(organization));
    for (const access of accesses) rows.push(toRow(access));
    after = next;
  } while (after !== '');
  return rows;
}

function toRow({ kind, who, projectId, role, source, givenBy, since, lastUsedAt }: Access): Row {
  return {
    kind,
    who,
    project: projectId || null,
    role: role || null,
    source: source || null,
    given_by: givenBy || null,
    since: timestamp(since),
    last_use: timestamp(lastUsedAt),
  };
}

function toLine(row: Row): string {
  return COLUMNS.map((column) => toCell(row[column] ?? '')).join(',');
}

/** Quotes a cell. Untrusted text can neither control a terminal nor pass for a formula in a spreadsheet. */
function toCell(text: string): string {
  const plain = printable(text);
  const safe = /^[=+\-@]/.test(plain) ? `'${plain}` : plain;
  return /[",]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

import { readFile } from 'node:fs/promises';

const RUNBOOK = new URL('../../docs/runbooks/restore.md', import.meta.url);

/** Returns the SQL statements by which the runbook invalidates all cursors of the change feeds after a restore. */
export async function readCursorStatements(): Promise<string[]> {
  const [match, ...others] = (await readFile(RUNBOOK, 'utf8')).matchAll(
    /for service in ([a-z ]+); do\n\s+psql -c "(update [^"]+)"/g,
  );
  const [, services, statement] = match ?? [];
  if (!services || !statement || others.length > 0) throw new Error('The runbook must have exactly one loop of SQL statements.');
  return services.split(' ').map((service) => statement.replaceAll('$service', service));
}

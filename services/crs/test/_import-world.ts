// Shared by the tests of `crs import`: a file with every type of record, the command as a process, and the tables that it fills.

import { spawn, type ChildProcess } from 'node:child_process';
import { INHERITED } from '@crs/testing/inherited';
import type { Processes } from '@crs/testing/processes';
import { OPERATOR_CREDENTIAL } from '@crs/testing/setup';
import { programOf } from '@crs/testing/programs';

const MAIN = programOf('crs');
const ORGANIZATIONS = ['acme', 'globex'];
const CHAPTERS = 3;
/** How many calls one organization has after the whole file was imported. */
export const CALLS_LEFT = CHAPTERS * 20;

const uuid = (kind: number, n: number) => `${String(kind).padStart(8, '0')}-0000-4000-8000-${String(n).padStart(12, '0')}`;

/** Records of every type in short runs, which refer to earlier records, and deletions between them. */
export function records(): object[] {
  const lines: object[] = ORGANIZATIONS.map((id) => ({ type: 'organization', id, write_surface: true }));
  for (let chapter = 0; chapter < CHAPTERS; chapter++) {
    const each = (make: (organization: string, n: number) => object, count = 1) => {
      for (let i = 0; i < count; i++) for (const organization of ORGANIZATIONS) lines.push(make(organization, chapter * 100 + i));
    };
    const day = `2025-03-${String(1 + chapter).padStart(2, '0')}T10:00:00Z`;
    const email = (n: number) => `user-${n}@crs.example`;
    const call = (organization: string, n: number, project: number) => ({
      type: 'call',
      organization,
      id: `call-${n}`,
      created_at: day,
      project_id: uuid(1, project),
      conducted_by: email(chapter * 100),
      transcript: `words of ${n}`,
      notes: [{ email: email(chapter * 100), text: 'x' }],
    });
    each((organization, n) => ({ type: 'user', organization, email: email(n), name: `User ${n}` }), 2);
    each((organization, n) => ({ type: 'billing_office', organization, name: `Office ${n % 300}`, is_default: n % 200 === 0 }));
    each(
      (organization, n) => ({
        type: 'project',
        organization,
        id: uuid(1, n),
        name: `Project ${n}`,
        created_at: day,
        created_by: email(chapter * 100 + 1),
        billing_office_name: `Office ${(chapter * 100) % 300}`,
        members: [{ email: email(chapter * 100), role: 'lead' }],
      }),
      3,
    );
    each((organization, n) => call(organization, n, chapter * 100 + (n % 2)), 20);
    each((organization, n) => call(organization, n + 50, chapter * 100 + 2), 5);
    each(
      (organization, n) => ({
        type: 'entity',
        organization,
        id: uuid(2, n),
        project_id: uuid(1, chapter * 100 + (n % 3)),
        name: `Entity ${n}`,
        created_at: day,
      }),
      6,
    );
    // The deletion of the project also deletes its five calls and two entities.
    each((organization, n) => ({ type: 'project', organization, id: uuid(1, n + 2), deleted: true }));
    each((organization, n) => ({ type: 'entity', organization, id: uuid(2, n), deleted: true }));
    each((organization, n) => ({ type: 'call', organization, id: `call-${n}`, deleted: true }));
    each((organization, n) => call(organization, n, chapter * 100));
    each((organization, n) => ({ type: 'user', organization, email: email(n + 1), deleted: true }));
  }
  return lines;
}

/** `crs import` as a process. */
export interface Import {
  child: ChildProcess;
  ended: Promise<{ status: number | null; stdout: string; stderr: string }>;
}

export function startImport(
  file: string,
  { admin }: Pick<Processes, 'admin'>,
  environment: Record<string, string> = {},
  options: string[] = [],
): Import {
  const addresses = Object.fromEntries(
    Object.entries(admin).map(([service, address]) => [`CRS_${service.toUpperCase()}_ADMIN_ADDRESS`, address]),
  );
  const env = { ...INHERITED, CRS_OPERATOR_CREDENTIAL: OPERATOR_CREDENTIAL, ...addresses, ...environment };
  const child = spawn(process.execPath, [MAIN, 'import', file, '--json', ...options], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const read = async (stream: AsyncIterable<Buffer>) => {
    let text = '';
    for await (const chunk of stream) text += chunk.toString();
    return text;
  };
  const status = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const all = Promise.all([status, read(child.stdout), read(child.stderr)]);
  return { child, ended: all.then(([code, stdout, stderr]) => ({ status: code, stdout, stderr })) };
}

/** Columns that differ between runs: times, hashes of random ids, counters of changes. */
const VARIES = ['updated_at', 'record_hash', 'visibility_version'];
const TABLES: Record<string, string[]> = {
  'auth.organizations': ['created_at', 'settings_changed_at', 'retain_changed_at'],
  'auth.users': ['created_at', 'user_id'],
  'auth.projects': [],
  'auth.project_roles': ['created_at'],
  'projects.billing_offices': [],
  'projects.projects': [],
  'projects.changes': ['position', 'changed_at'],
  'calls.calls': [],
  'calls.notes': [],
  'calls.call_days': [],
  'calls.changes': ['position', 'changed_at'],
  'entities.entities': [],
  'entities.changes': ['position', 'changed_at'],
};

/** All rows of the tables as text, with e-mail addresses in place of user ids, which are random. */
export async function tablesOf(query: (text: string) => Promise<Record<string, unknown>[]>): Promise<Record<string, string[]>> {
  const all: Record<string, string[]> = {};
  const users = new Map(
    (await query('select user_id as id, email from auth.users')).map(({ id, email }) => [id as string, email as string]),
  );
  for (const [table, varying] of Object.entries(TABLES)) {
    const columns = [...VARIES, ...varying].map((column) => `'${column}'`).join(', ');
    const rows = await query(`select (to_jsonb(t) - array[${columns}])::text as row from ${table} t`);
    const named = rows.map(({ row }) =>
      String(row)
        .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (id) => users.get(id) ?? id)
        .replaceAll(/\\"updated_at\\":\\"[^"]*"/g, ''),
    );
    all[table] = named.toSorted();
  }
  return all;
}

// Shared by the tests of deletions: organizations with rows in every table, ways to delete from them, and searches for what is left.

import type { CallOptions } from '@crs/kit/rpc/client';
import { erase, type EraseTarget } from '@crs/testing/erase';
import { fillDirectory } from '@crs/testing/scim';
import { userToken } from '@crs/testing/user-token';
import { tenant, type World } from '@crs/testing/world';
import { projectsClient } from './_client.ts';
import { ALPHA, ANN, BETA, BOB, project, tenantRecords } from './_records.ts';

export const ONE = '11111111-0000-4000-8000-000000000001';
/** An erasure in the ledger. */
const ERASURE = '33333333-0000-4000-8000-000000000003';
export const TWO = '11111111-0000-4000-8000-000000000002';
const FIELDS = { allowed_fields: ['summary', 'transcripts.verbatim', 'interviewee.name'], anonymize_interviewees: true };

const call = (organization: string, id: string, day: number, more: object = {}) => ({
  type: 'call',
  organization,
  id,
  created_at: `2025-03-0${day}T10:00:00Z`,
  conducted_by: ANN,
  expert: { name: 'Eva Muster' },
  transcript: 'words',
  redacted_transcript: 'w',
  qa_blocks: [{ question: 'Why?', answer: 'So.' }],
  notes: [ANN, BOB].map((email) => ({ email, text: 'x' })),
  ...more,
});
const entity = (organization: string, id: string, projectId: string) => ({
  type: 'entity',
  organization,
  id,
  project_id: projectId,
  name: 'Box Inc',
});

/** The import lines of an organization: two projects with calls and an entity each, and a call outside both. */
export const records = (organization: string): object[] => [
  ...tenantRecords(organization, FIELDS),
  project(organization, ALPHA, {
    name: 'Alpha',
    created_by: ANN,
    billing_office_name: 'Paris',
    members: [{ email: ANN, role: 'lead' }, { email: BOB }],
  }),
  project(organization, BETA, { name: 'Beta', created_by: BOB, members: [{ email: BOB, role: 'lead' }, { email: ANN }] }),
  call(organization, 'alpha-1', 1, { project_id: ALPHA }),
  call(organization, 'alpha-2', 2, { project_id: ALPHA, conducted_by: BOB }),
  call(organization, 'beta-1', 1, { project_id: BETA }),
  call(organization, 'beta-2', 2, { project_id: BETA, conducted_by: BOB }),
  call(organization, 'alone', 2),
  entity(organization, ONE, ALPHA),
  entity(organization, TWO, BETA),
];

const SCHEMAS = ['auth', 'calls', 'projects', 'entities', 'webhooks'];

/** The tables of each test environment, cached because they don't change. */
const tables = new WeakMap<World, Promise<string[]>>();

/** Every table of every service's schema, so that a new table is included. */
export function tablesOf(world: World): Promise<string[]> {
  const cached = tables.get(world) ?? queryTables(world);
  tables.set(world, cached);
  return cached;
}

async function queryTables(world: World): Promise<string[]> {
  const { rows } = await world.query(
    `select table_schema || '.' || table_name as name from information_schema.tables
      where table_schema = any($1) and table_name !~ '^migrations' order by 1`,
    [SCHEMAS],
  );
  return rows.map(({ name }) => name);
}

/** The audit trail is kept after every deletion. */
const KEPT = 'auth.audit';

/** The tables in which a row of the organization contains the text in any column. */
export async function tracesOf(world: World, organization: string, text: string): Promise<string[]> {
  const searched = (await tablesOf(world)).filter((table) => table !== KEPT);
  const parts = searched.map(
    (table) => `select '${table}' as name where exists (select from ${table} t
      where strpos(lower(t::text), lower($1)) > 0 and coalesce(to_jsonb(t) ->> 'organization', $2) = $2)`,
  );
  const { rows } = await world.query(`${parts.join(' union all ')} order by 1`, [text, organization]);
  return rows.map(({ name }) => name);
}

/** Columns that change with each use, or as the sender of webhooks reads positions. */
const CHANGING = ['last_used_at', 'feed_position', 'settings_version', 'wakes'];

/** The rows of an organization by table, without columns that change by themselves. */
export async function everythingOf(world: World, organization: string): Promise<Record<string, string[]>> {
  const read = (await tablesOf(world)).filter((table) => table !== KEPT);
  const parts = read.map(
    (table) => `select '${table}' as name, (to_jsonb(t) - $2::text[])::text as row from ${table} t
      where to_jsonb(t) ->> 'organization' = $1`,
  );
  const { rows } = await world.query(`${parts.join(' union all ')} order by 1, 2`, [organization, CHANGING]);
  const all: Record<string, string[]> = Object.fromEntries(read.map((table) => [table, []]));
  for (const { name, row } of rows) all[name]!.push(row);
  return all;
}

/** The days whose count in the rollup differs from the number of stored calls. */
export async function wrongDays(world: World): Promise<unknown[]> {
  const { rows } = await world.query(
    `select organization, day from calls.call_days d full join (
        select organization, (created_at at time zone 'UTC')::date as day, count(*)::int as calls from calls.calls group by 1, 2
      ) c using (organization, day) where coalesce(d.calls, 0) <> coalesce(c.calls, 0)`,
  );
  return rows;
}

/** The rows of all services that refer to a project or user that auth doesn't have. */
export async function orphans(world: World): Promise<unknown[]> {
  const { rows } = await world.query(
    `select 'call' as what, organization, call_id as id from calls.calls c where project_id is not null
        and not exists (select from auth.projects a where (a.organization, a.project_id) = (c.organization, c.project_id))
      union all select 'conductor', organization, call_id from calls.calls c where conducted_by is not null
        and not exists (select from auth.users u where (u.organization, u.user_id) = (c.organization, c.conducted_by))
      union all select 'note', organization, call_id from calls.notes n
        where not exists (select from auth.users u where (u.organization, u.user_id) = (n.organization, n.user_id))
      union all select 'entity', organization, entity_id::text from entities.entities e
        where not exists (select from auth.projects a where (a.organization, a.project_id) = (e.organization, e.project_id))
      union all select 'project', organization, project_id::text from projects.projects p
        where not exists (select from auth.projects a where (a.organization, a.project_id) = (p.organization, p.project_id))`,
  );
  return rows;
}

/** An organization with rows in every table. */
export interface Filled {
  id: string;
  key: string;
  /** The id of a project that was created with POST /v1/projects. */
  created: string;
  /** Options for an RPC, with a token of the user ann. */
  ann: CallOptions;
}

/** Creates an organization with the same records as every other, an API key, a token of the user ann, and a project created by REST. */
export async function fill(world: World, name = 'acme'): Promise<Filled> {
  const id = tenant(name);
  await world.load(records(id));
  const key = await world.createKey(id);
  // The secret for anonymized names is created by the first request for such a name.
  await world.rest('/v1/calls/alone', { key });
  const created = (await post(world, key)).json.project_id as string;
  await world.query(
    `insert into auth.user_identities (organization, issuer, subject, user_id)
      select organization, 'https://id.example', user_id::text, user_id from auth.users where organization = $1`,
    [id],
  );
  await world.query(`insert into calls.retention (organization, day, deleted) values ($1, '2026-01-01', 0)`, [id]);
  await world.query(
    `insert into calls.erasures (organization, erasure_id, at, operator, kind, salt, names) values ($1, $2, now(), '', 'calls', '', '{}')`,
    [id, ERASURE],
  );
  await world.query(`insert into calls.erased_calls (organization, erasure_id, call_digest, held) values ($1, $2, '', false)`, [
    id,
    ERASURE,
  ]);
  await world.query(`insert into auth.domain_directory values ($1 || '.example', $1)`, [id]);
  await world.query(`insert into auth.assertion_issuers values ('https://' || $1 || '.example', $1)`, [id]);
  await world.query(
    `insert into webhooks.endpoints (organization, webhook_id, slot, organization_created_at, url, secret_encrypted, created_at, cursor)
      values ($1, 'wh', 1, now(), '', '', now(), '')`,
    [id],
  );
  await world.query(
    `insert into webhooks.deliveries (organization, webhook_id, delivery_id, at, message_id, message_type, duration_ms)
      values ($1, 'wh', gen_random_uuid(), now(), '', 'ping', 0)`,
    [id],
  );
  // The running sender never looks at the endpoint.
  await world.query(`insert into webhooks.due (organization, webhook_id, due_at) values ($1, 'wh', '2200-01-01')`, [id]);
  await fillDirectory(world, id, ALPHA);
  return { id, key, created, ann: await userToken(world, id, ANN) };
}

/** Creates a project by REST, always with the same idempotency key. */
export function post(world: World, key: string) {
  return world.rest('/v1/projects', {
    key,
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': 'the same' },
    body: JSON.stringify({ name: 'Created', lead_email: ANN, member_emails: [BOB] }),
  });
}

/** The number of calls that the organization of the key has, as REST reports it. */
export async function totalOf(world: World, key: string): Promise<number> {
  const { json } = await world.rest('/v1/calls?start_date=2025-01-01T00:00:00Z&end_date=2026-01-01T00:00:00Z', { key });
  return json.pagination.total_items;
}

export const TARGETS: Record<'project' | 'user' | 'organization', EraseTarget> = {
  project: { $case: 'projectId', value: ALPHA },
  user: { $case: 'email', value: ANN },
  organization: { $case: 'organization', value: true },
};

/** Deletes a project, a user or the whole organization as `crs` does. */
export function eraseOf(
  world: World,
  organization: string,
  what: keyof typeof TARGETS,
  before?: Parameters<typeof erase>[3],
): Promise<boolean> {
  return erase(world.operator, organization, TARGETS[what], before);
}

export async function userIdOf(world: World, organization: string, email: string): Promise<string> {
  const { rows } = await world.query('select user_id as id from auth.users where organization = $1 and email = $2', [
    organization,
    email,
  ]);
  return rows[0].id;
}

/** The ids of the projects that the user of the token sees. */
export async function visibleProjects(world: World, token: CallOptions): Promise<string[]> {
  const projects = projectsClient(world.stack.addresses.projects);
  try {
    const all = await projects.listUserProjects({ mine: false, includeArchived: true, after: undefined, limit: 100 }, token);
    return all.projects.map(({ projectId }) => projectId);
  } finally {
    projects.close();
  }
}

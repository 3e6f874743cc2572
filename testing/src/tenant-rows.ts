/** Rows in every tenant table, for tests that organizations are isolated. */
import type { Query } from '@crs/kit/data/database';
import type { OrganizationSettings } from '@crs/proto/crs/auth/v1/admin';
import type { PoolClient } from 'pg';
import type { World } from './world.ts';

/** An organization with rows in every tenant table. All its ids are the same in each organization. */
export interface Tenant {
  id: string;
  annId: string;
  bobId: string;
}

/**
 * Sends statements of a service for an organization, in a transaction that is rolled back afterwards. The returned statements are sent last, in their
 * order.
 */
export type SendStatements = (tenant: Tenant, query: Query, connection: PoolClient) => object[] | Promise<object[] | void>;

export const ANN = 'ann@crs.example';
export const BOB = 'bob@crs.example';
export const PROJECT = '11111111-2222-4333-8444-555555555555';
/** An entity and a project that were deleted long ago. */
const DELETED = '22222222-2222-4333-8444-555555555555';
export const CALL = 'call-same';
/** A call of the project that the hold names. */
export const HELD_CALL = 'call-held';
export const HOLD = '33333333-2222-4333-8444-555555555555';
/** An erasure of a person that isn't complete, and the digest of its call. */
export const ERASURE = PROJECT;
export const ERASED_CALL = '00112233445566778899aabbccddeeff';
export const KEY = 'key_same';
export const GRANT = 'grant_same';
export const SCIM_TOKEN = 'scim_same';
/** A group of the directory. Bob is a member, and by that of the project. */
export const GROUP = 'Same';
export const GROUP_ID = PROJECT;
export const ISSUER = 'https://idp.example';
export const SUBJECT = 'same';
export const WEBHOOK = 'wh_same';
/** An issuer belongs to one organization. */
export const assertionIssuerOf = (id: string) => `https://assertions.${id}.example`;
/** Idempotency keys of projects that were created by REST. */
export const CREATION = { completed: 'completed', abandoned: 'abandoned', old: 'old' };
/** The lease of a creation that was abandoned. */
export const LEASE = PROJECT;

/** The line from which the call of an organization is imported. */
export const callLine = (organization: string) => ({
  type: 'call',
  organization,
  id: CALL,
  created_at: '2025-03-01T10:00:00Z',
  project_id: PROJECT,
  conducted_by: ANN,
  segment: organization,
  transcript: organization,
  notes: [{ email: ANN, text: organization }],
});

/** Stores rows of an organization in every tenant table. Its id is in all texts. */
export async function fillTenant(world: World, id: string): Promise<Tenant> {
  const of = { organization: id };
  await world.load([
    { type: 'organization', id, name: id, write_surface: true },
    ...[ANN, BOB].map((email) => ({ type: 'user', ...of, email, name: `${email} of ${id}` })),
  ]);
  await world.query('update auth.users set user_id = md5(email)::uuid where organization = $1', [id]);
  await world.load([
    { type: 'billing_office', ...of, name: 'Zurich', is_default: true },
    { type: 'project', ...of, id: PROJECT, name: id, created_by: ANN, members: [{ email: BOB, role: 'lead' }] },
    callLine(id),
    { type: 'call', ...of, id: HELD_CALL, project_id: PROJECT, conducted_by: ANN },
    { type: 'call', ...of, id: 'call-deleted' },
    { type: 'call', ...of, id: 'call-deleted', deleted: true },
    { type: 'entity', ...of, id: PROJECT, project_id: PROJECT, name: id },
    { type: 'entity', ...of, id: DELETED, project_id: PROJECT },
    { type: 'entity', ...of, id: DELETED, deleted: true },
  ]);
  const oidcProvider = { issuer: ISSUER, clientId: 'crs', clientSecret: 'hush', domains: [`${id}.example`] };
  const operator = await world.operator.operator(id);
  const settings = { oidcProvider, assertionIssuers: { issuers: [assertionIssuerOf(id)] } };
  await world.operator.auth.updateOrganization({ settings: settings as OrganizationSettings }, operator);
  await world.createKey(id);
  await world.operator.auth.createToken({ email: ANN, scopes: [], expiresInSeconds: 0 }, operator);
  const { rows } = await world.query('select user_id as id from auth.users where organization = $1 order by email', [id]);
  const tenant = { id, annId: rows[0].id, bobId: rows[1].id };
  for (const [text, ...values] of statementsOf(tenant)) await world.query(text, [id, ...values]);
  return tenant;
}

/** Inserts by SQL the rows that no request creates, or that a request would create with other ids and times. */
function statementsOf({ id, annId, bobId }: Tenant): [string, ...unknown[]][] {
  const creation = `insert into projects.creations (organization, idempotency_key, body_hash, project_id, lease_id, lease_until, response, created_at)
    values ($1, $2, '', $3, $4, now(), $5, now() - $6::interval)`;
  return [
    [
      `insert into calls.erasures (organization, erasure_id, at, operator, kind, salt, names, reached)
        values ($1, $2, now(), $1, 'person', '', '{}', '')`,
      ERASURE,
    ],
    [
      'insert into calls.erased_calls (organization, erasure_id, call_digest, held) values ($1, $2, $3, false)',
      ERASURE,
      ERASED_CALL,
    ],
    ['update auth.key_directory set key_id = $2 where organization = $1', KEY],
    ['update auth.api_keys set key_id = $2 where organization = $1', KEY],
    ['update auth.grants set grant_id = $2 where organization = $1', GRANT],
    [
      `insert into auth.grants (organization, grant_id, user_id, kind, client, scopes, expires_at)
        values ($1, 'grant_own', $2, 'own', $1, '{}', now() + interval '1 day')`,
      annId,
    ],
    ['insert into auth.scim_tokens (organization, token_id, digest, label) values ($1, $2, $3, $1)', SCIM_TOKEN, Buffer.from(id)],
    ['insert into auth.scim_token_directory (organization, token_id, digest) values ($1, $2, $3)', SCIM_TOKEN, Buffer.from(id)],
    [
      'insert into auth.groups (organization, group_id, name, name_folded, external_id) values ($1, $2, $3, $4, $1)',
      GROUP_ID,
      GROUP,
      GROUP.toLowerCase(),
    ],
    ['insert into auth.group_members (organization, group_id, user_id) values ($1, $2, $3)', GROUP_ID, bobId],
    [
      `insert into auth.group_maps (organization, name, name_folded, project_id, role) values ($1, $2, $3, $4, 'member')`,
      GROUP,
      GROUP.toLowerCase(),
      PROJECT,
    ],
    [
      `insert into auth.project_roles (organization, project_id, user_id, role, source) values ($1, $2, $3, 'member', 'directory')`,
      PROJECT,
      bobId,
    ],
    ['insert into auth.user_identities (organization, issuer, subject, user_id) values ($1, $2, $3, $4)', ISSUER, SUBJECT, annId],
    [
      `insert into auth.audit (organization, at, actor, action, target) values ($1, now() - interval '200 days', 'a', 'key.create', $2)`,
      KEY,
    ],
    [
      'insert into projects.changes (organization, record_id, position, changed_at, deleted) values ($1, $2, 0, now(), true)',
      DELETED,
    ],
    // Times are parameters, because Citus computes none in an update.
    ...['calls', 'projects', 'entities'].map((service): [string, Date] => [
      `update ${service}.changes set changed_at = $2 where organization = $1 and deleted`,
      new Date(Date.now() - 40 * 86_400_000),
    ]),
    [
      `insert into webhooks.endpoints (organization, webhook_id, slot, organization_created_at, url, secret_encrypted, created_at, cursor)
        values ($1, $2, 1, now(), $1, '', now(), '')`,
      WEBHOOK,
    ],
    [
      `insert into webhooks.deliveries (organization, webhook_id, delivery_id, at, message_id, message_type, duration_ms)
        values ($1, $2, $3, now(), $1, 'ping', 0)`,
      WEBHOOK,
      PROJECT,
    ],
    // The running sender never looks at the endpoint.
    [`insert into webhooks.due (organization, webhook_id, due_at) values ($1, $2, '2200-01-01')`, WEBHOOK],
    ['insert into calls.name_secrets (organization, secret) values ($1, $2)', Buffer.from(id)],
    [`insert into calls.retention (organization, day, deleted) values ($1, '2025-01-01', 7)`],
    [`insert into calls.holds (organization, hold_id, label, created_at, created_by) values ($1, $2, $1, now(), $1)`, HOLD],
    ['insert into calls.held_calls (organization, hold_id, call_id) values ($1, $2, $3)', HOLD, HELD_CALL],
    [creation, CREATION.completed, PROJECT, LEASE, JSON.stringify({ name: id, lead: { userId: annId }, members: [] }), '0'],
    [creation, CREATION.abandoned, PROJECT, LEASE, null, '0'],
    [creation, CREATION.old, PROJECT, LEASE, null, '2 days'],
  ];
}

// Every way to lose access to data: the request that reads it, and the change that revokes the access. For rights*.test.ts.
import { setTimeout as sleep } from 'node:timers/promises';
import { ProjectRole } from '@crs/proto/crs/auth/v1/admin';
import { erase } from '@crs/testing/erase';
import type { Lane } from '@crs/testing/lanes';
import { toolClient } from '@crs/testing/mcp';
import { restClient, type RestRequest } from '@crs/testing/rest';

export const BOB = 'bob@crs.example';
const ANN = 'ann@crs.example';
export const ALPHA = '00000000-0000-4000-8000-00000000000a';
const BETA = '00000000-0000-4000-8000-00000000000b';
const CALL = 'a-call';
/** A text that is in each response that returns the project alpha, its call or its entity, and in no other. */
const MARK = 'marked';
const ENOUGH = { requests: 1_000_000, period_seconds: 60 };

/** An organization used by one test only. The ids in it are the same for every test. */
export interface Tenant {
  organization: string;
  lane: Lane;
  key: string;
  keyId: string;
  keyExpires: Date | undefined;
  token: string;
  tokenId: string;
  tokenExpires: Date | undefined;
  /** The entity tag of the call over REST before the change. */
  etag: string;
}

interface Given {
  /** Fields of the project alpha. Without `members`, bob is a member. */
  project?: object;
  call?: object;
  /** Lifetime of key and token. */
  expiresInSeconds?: number;
}

const project = (fields: object = {}) => ({ type: 'project', id: ALPHA, name: MARK, members: [{ email: BOB }], ...fields });
export const call = (fields: object = {}) => ({
  type: 'call',
  id: CALL,
  project_id: ALPHA,
  created_at: '2025-03-01T10:00:00Z',
  segment: MARK,
  source: MARK,
  summary: 'In short',
  expert: { name: 'Eva Muster' },
  ...fields,
});

/** Imports records of the organization through its lane. */
export async function load({ organization, lane }: Pick<Tenant, 'organization' | 'lane'>, records: object[]): Promise<void> {
  const { refused } = await lane.tryLoad(records.map((record) => ({ organization, ...record })));
  if (refused.length > 0) throw new Error(refused.join('; '));
}

/** Creates the organization with its records, key and token, through the operator of the lane. */
export async function createTenant(organization: string, lane: Lane, given: Given = {}): Promise<Tenant> {
  const allowed = { write_surface: true, allowed_fields: ['summary', 'source', 'interviewee.name'] };
  const limits = { rate_limit: ENOUGH, tool_rate_limit: ENOUGH };
  await lane.tryLoad([{ type: 'organization', id: organization, name: organization, ...allowed, ...limits }]);
  await load({ organization, lane }, [
    { type: 'user', email: ANN, name: 'Ann' },
    { type: 'user', email: BOB, name: 'Bob' },
    project(given.project),
    project({ id: BETA, name: 'Beta', members: [] }),
    call(given.call),
    { type: 'entity', id: ALPHA, project_id: ALPHA, name: MARK },
  ]);
  const { auth, operator } = lane.operator;
  const { expiresInSeconds = 0 } = given;
  const key = await auth.createKey({ label: '', rights: [], networks: [], expiresInSeconds }, await operator(organization));
  const token = await auth.createToken({ email: BOB, scopes: [], expiresInSeconds }, await operator(organization));
  const { headers } = await restClient(lane.api)(`/v1/calls/${CALL}`, { key: key.secret });
  return {
    organization,
    lane,
    key: key.secret,
    keyId: key.apiKey!.keyId,
    keyExpires: key.apiKey!.expiresAt,
    token: token.accessToken,
    tokenId: token.token!.tokenId,
    tokenExpires: token.token!.expiresAt,
    etag: headers.get('etag')!,
  };
}

/** Sends a request to a gateway. @returns whether the response contains the mark @throws Error unless it succeeds or is 401 or not found */
export type Read = (tenant: Tenant, lane: Lane, mark: string) => Promise<boolean>;

const tool =
  (name: string, args: object): Read =>
  async ({ token }, lane, mark) => {
    const { status, value, json } = await toolClient(lane.tools, token)(name, args);
    if (value !== undefined) return JSON.stringify(value).includes(mark);
    const { error } = status === 401 ? json : JSON.parse(json.result.content[0].text);
    if (['unauthorized', 'not_found'].includes(error.code)) return false;
    throw new Error(`${name}: ${JSON.stringify(json)}`);
  };

const rest =
  (path: string, request: (tenant: Tenant, lane: Lane) => RestRequest = () => ({})): Read =>
  async (tenant, lane, mark) => {
    const { status, text } = await restClient(lane.api)(path, { key: tenant.key, ...request(tenant, lane) });
    if (status === 304) return true;
    if (status === 200 || status === 201) return text.includes(mark);
    if (status === 401 || status === 404) return false;
    throw new Error(`${path}: ${text}`);
  };

export const getCall = (id: string) => tool('get_call', { call_id: id });
export const LIST_CALLS = tool('list_calls', { scope: 'all' });
export const LIST_PROJECTS = tool('list_projects', { scope: 'all' });
const LIST_ENTITIES = tool('list_entities', { project_id: ALPHA });
const CALL_TOOLS = [LIST_CALLS, getCall(CALL)];
export const TOOLS = [...CALL_TOOLS, LIST_PROJECTS, LIST_ENTITIES];

const CALL_DETAIL = rest(`/v1/calls/${CALL}`);
/** A conditional request. A 304 counts as access to the call. */
const CALL_UNCHANGED = rest(`/v1/calls/${CALL}`, ({ etag }) => ({ headers: { 'if-none-match': etag } }));
const CALL_LIST = rest('/v1/calls?start_date=2025-01-01T00:00:00Z&end_date=2026-01-01T00:00:00Z');
const PROJECT_DETAIL = rest(`/v1/projects/${ALPHA}`);
/** Creates a project with an idempotency key, so that repeats replay the first response. */
const CREATION = rest('/v1/projects', (_tenant, { api }) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', 'idempotency-key': api },
  body: JSON.stringify({ name: MARK, lead_email: ANN }),
}));
const CALL_REST = [CALL_DETAIL, CALL_UNCHANGED, CALL_LIST];

/** Access to some data, the requests that return it, and the change that revokes the access. */
export interface Right {
  what: string;
  /** Milliseconds after the acknowledgement of the change during which requests may still succeed. */
  within: number;
  given?: Given;
  mark: string;
  reads: Read[];
  /** Gives the access, if `given` doesn't. */
  prepare?: (tenant: Tenant) => Promise<unknown>;
  revoke: (tenant: Tenant) => Promise<unknown>;
}

/** For data that depends on the credential, which gateways cache for a second. */
export const CACHED = { within: 1_000, mark: MARK };
/** For data whose rows, and the caller's access to them, are read by every request. */
export const NOT_CACHED = { within: 0, mark: MARK };

export const asOperator = async ({ organization, lane }: Tenant) => lane.operator.operator(organization);
export const authOf = ({ lane }: Tenant) => lane.operator.auth;
const set = async (tenant: Tenant, settings: object) =>
  authOf(tenant).updateOrganization({ settings: settings as never }, await asOperator(tenant));
const removeRole = async (tenant: Tenant, role: ProjectRole) =>
  authOf(tenant).removeMember({ projectId: ALPHA, email: BOB, role }, await asOperator(tenant));
/** Waits until the time has passed. */
async function pass(at: Date): Promise<void> {
  while (Date.now() <= at.getTime()) await sleep(20);
}

export const RIGHTS: Right[] = [
  {
    ...CACHED,
    what: 'an API key that is revoked',
    reads: [CALL_DETAIL, CALL_LIST, PROJECT_DETAIL, CREATION],
    revoke: async (t) => authOf(t).revokeKey({ keyId: t.keyId }, await asOperator(t)),
  },
  {
    ...CACHED,
    what: 'an API key that expires',
    given: { expiresInSeconds: 4 },
    reads: [CALL_DETAIL],
    revoke: ({ keyExpires }) => pass(keyExpires!),
  },
  {
    ...CACHED,
    what: 'a field that is switched off',
    mark: 'In short',
    reads: [CALL_DETAIL, CALL_UNCHANGED],
    revoke: (t) => set(t, { allowedFields: { default: false, fields: ['source'] } }),
  },
  {
    ...CACHED,
    what: 'a field of the list that is switched off',
    reads: [CALL_LIST],
    revoke: (t) => set(t, { allowedFields: { default: false, fields: [] } }),
  },
  {
    ...CACHED,
    what: 'the name of an interviewee who becomes anonymous',
    mark: 'Eva Muster',
    reads: [CALL_DETAIL, CALL_UNCHANGED],
    revoke: (t) => set(t, { anonymizeInterviewees: true }),
  },
  {
    ...CACHED,
    what: 'the write surface that is switched off',
    reads: [CREATION, PROJECT_DETAIL],
    revoke: (t) => set(t, { writeSurface: false }),
  },
  {
    ...CACHED,
    what: 'an access token that is revoked',
    reads: TOOLS,
    revoke: async (t) => authOf(t).revokeToken({ tokenId: t.tokenId }, await asOperator(t)),
  },
  {
    ...CACHED,
    what: 'an access token that expires',
    given: { expiresInSeconds: 4 },
    reads: [LIST_CALLS],
    revoke: ({ tokenExpires }) => pass(tokenExpires!),
  },
  {
    ...CACHED,
    what: 'a user who is disabled',
    reads: TOOLS,
    revoke: async (t) => authOf(t).setUserDisabled({ email: BOB, disabled: true }, await asOperator(t)),
  },
  {
    ...CACHED,
    what: 'a user who is deleted',
    reads: TOOLS,
    revoke: (t) => load(t, [{ type: 'user', email: BOB, deleted: true }]),
  },
  {
    ...CACHED,
    what: 'an organization that is deleted',
    reads: [...TOOLS, CALL_DETAIL, PROJECT_DETAIL],
    revoke: ({ lane, organization }) => erase(lane.operator, organization, { $case: 'organization', value: true }),
  },
  {
    ...NOT_CACHED,
    what: 'a member who is removed',
    reads: TOOLS,
    revoke: (t) => removeRole(t, ProjectRole.PROJECT_ROLE_MEMBER),
  },
  {
    ...NOT_CACHED,
    what: 'a lead who is removed',
    given: { project: { members: [{ email: BOB, role: 'lead' }] } },
    reads: TOOLS,
    revoke: (t) => removeRole(t, ProjectRole.PROJECT_ROLE_LEAD),
  },
  {
    ...NOT_CACHED,
    what: 'a member whom an import leaves out',
    reads: TOOLS,
    revoke: (t) => load(t, [project({ members: [{ email: ANN }] })]),
  },
  {
    ...NOT_CACHED,
    what: 'a lead whom an import replaces',
    given: { project: { members: [{ email: BOB, role: 'lead' }] } },
    reads: TOOLS,
    revoke: (t) => load(t, [project({ members: [{ email: ANN, role: 'lead' }] })]),
  },
  {
    ...NOT_CACHED,
    what: 'a creator whom an import replaces',
    given: { project: { created_by: BOB, members: [] } },
    reads: TOOLS,
    revoke: (t) => load(t, [project({ created_by: ANN, members: [] })]),
  },
  {
    ...NOT_CACHED,
    what: 'a project that is deleted',
    reads: [...TOOLS, ...CALL_REST, PROJECT_DETAIL],
    revoke: (t) => load(t, [{ type: 'project', id: ALPHA, deleted: true }]),
  },
  {
    ...NOT_CACHED,
    what: 'a call that is deleted',
    reads: [...CALL_TOOLS, ...CALL_REST],
    revoke: (t) => load(t, [{ type: 'call', id: CALL, deleted: true }]),
  },
  {
    ...NOT_CACHED,
    what: 'a call that moves to another project',
    reads: CALL_TOOLS,
    revoke: (t) => load(t, [call({ project_id: BETA })]),
  },
  {
    ...NOT_CACHED,
    what: 'a call that is reassigned to another user',
    given: { call: { project_id: null, conducted_by: BOB } },
    reads: CALL_TOOLS,
    revoke: (t) => load(t, [call({ project_id: null, conducted_by: ANN })]),
  },
  {
    ...NOT_CACHED,
    what: 'an entity that is deleted',
    reads: [LIST_ENTITIES],
    revoke: (t) => load(t, [{ type: 'entity', id: ALPHA, deleted: true }]),
  },
];

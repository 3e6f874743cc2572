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
/** Stands in each answer that shows bob the project alpha, its call or its entity, and in no other. */
const MARK = 'marked';
const ENOUGH = { requests: 1_000_000, period_seconds: 60 };

/** An organization that one test has for itself. Its ids are the same in each test. */
export interface Tenant {
  organization: string;
  lane: Lane;
  key: string;
  keyId: string;
  keyExpires: Date | undefined;
  token: string;
  tokenId: string;
  tokenExpires: Date | undefined;
  /** The tag of the call over REST at the start. */
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

/** Imports records of the organization by its lane. */
export async function load({ organization, lane }: Pick<Tenant, 'organization' | 'lane'>, records: object[]): Promise<void> {
  const { refused } = await lane.tryLoad(records.map((record) => ({ organization, ...record })));
  if (refused.length > 0) throw new Error(refused.join('; '));
}

/** Creates the organization through the operator of the lane. */
export async function found(organization: string, lane: Lane, given: Given = {}): Promise<Tenant> {
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
  const key = await auth.createKey({ label: '', readOnly: false, expiresInSeconds }, await operator(organization));
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

/** Asks a gateway. @returns whether the answer shows the mark. @throws Error for an answer other than success, 401 or not found */
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
const TOOLS = [...CALL_TOOLS, LIST_PROJECTS, LIST_ENTITIES];

const CALL_DETAIL = rest(`/v1/calls/${CALL}`);
/** 304 counts as showing the call. */
const CALL_UNCHANGED = rest(`/v1/calls/${CALL}`, ({ etag }) => ({ headers: { 'if-none-match': etag } }));
const CALL_LIST = rest('/v1/calls?start_date=2025-01-01T00:00:00Z&end_date=2026-01-01T00:00:00Z');
const PROJECT_DETAIL = rest(`/v1/projects/${ALPHA}`);
/** Repeats of this request replay the first answer. */
const CREATION = rest('/v1/projects', (_tenant, { api }) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', 'idempotency-key': api },
  body: JSON.stringify({ name: MARK, lead_email: ANN }),
}));
const CALL_REST = [CALL_DETAIL, CALL_UNCHANGED, CALL_LIST];

/** A right to see something, the requests that show it, and the change that takes it away. */
export interface Right {
  what: string;
  /** How long after the acknowledgement a request may still be answered as before, in milliseconds. */
  within: number;
  given?: Given;
  mark: string;
  reads: Read[];
  take: (tenant: Tenant) => Promise<unknown>;
}

/** Gateways remember a credential for a second. */
const REMEMBERED = { within: 1_000, mark: MARK };
/** Every request reads the rows and the caller's access to them. */
const NEVER_REMEMBERED = { within: 0, mark: MARK };

const asOperator = async ({ organization, lane }: Tenant) => lane.operator.operator(organization);
const authOf = ({ lane }: Tenant) => lane.operator.auth;
const set = async (tenant: Tenant, settings: object) =>
  authOf(tenant).updateOrganization({ settings: settings as never }, await asOperator(tenant));
const removeRole = async (tenant: Tenant, role: ProjectRole) =>
  authOf(tenant).removeMember({ projectId: ALPHA, email: BOB, role }, await asOperator(tenant));
/** Waits until the time is over. */
async function pass(at: Date): Promise<void> {
  while (Date.now() <= at.getTime()) await sleep(20);
}

export const RIGHTS: Right[] = [
  {
    ...REMEMBERED,
    what: 'an API key that is revoked',
    reads: [CALL_DETAIL, CALL_LIST, PROJECT_DETAIL, CREATION],
    take: async (t) => authOf(t).revokeKey({ keyId: t.keyId }, await asOperator(t)),
  },
  {
    ...REMEMBERED,
    what: 'an API key that expires',
    given: { expiresInSeconds: 4 },
    reads: [CALL_DETAIL],
    take: ({ keyExpires }) => pass(keyExpires!),
  },
  {
    ...REMEMBERED,
    what: 'a field that is switched off',
    mark: 'In short',
    reads: [CALL_DETAIL, CALL_UNCHANGED],
    take: (t) => set(t, { allowedFields: { default: false, fields: ['source'] } }),
  },
  {
    ...REMEMBERED,
    what: 'a field of the list that is switched off',
    reads: [CALL_LIST],
    take: (t) => set(t, { allowedFields: { default: false, fields: [] } }),
  },
  {
    ...REMEMBERED,
    what: 'the name of an interviewee who becomes anonymous',
    mark: 'Eva Muster',
    reads: [CALL_DETAIL, CALL_UNCHANGED],
    take: (t) => set(t, { anonymizeInterviewees: true }),
  },
  {
    ...REMEMBERED,
    what: 'the write surface that is switched off',
    reads: [CREATION, PROJECT_DETAIL],
    take: (t) => set(t, { writeSurface: false }),
  },
  {
    ...REMEMBERED,
    what: 'an access token that is revoked',
    reads: TOOLS,
    take: async (t) => authOf(t).revokeToken({ tokenId: t.tokenId }, await asOperator(t)),
  },
  {
    ...REMEMBERED,
    what: 'an access token that expires',
    given: { expiresInSeconds: 4 },
    reads: [LIST_CALLS],
    take: ({ tokenExpires }) => pass(tokenExpires!),
  },
  {
    ...REMEMBERED,
    what: 'a user who is disabled',
    reads: TOOLS,
    take: async (t) => authOf(t).setUserDisabled({ email: BOB, disabled: true }, await asOperator(t)),
  },
  {
    ...REMEMBERED,
    what: 'a user who is deleted',
    reads: TOOLS,
    take: (t) => load(t, [{ type: 'user', email: BOB, deleted: true }]),
  },
  {
    ...REMEMBERED,
    what: 'an organization that is deleted',
    reads: [...TOOLS, CALL_DETAIL, PROJECT_DETAIL],
    take: ({ lane, organization }) => erase(lane.operator, organization, { $case: 'organization', value: true }),
  },
  {
    ...NEVER_REMEMBERED,
    what: 'a member who is removed',
    reads: TOOLS,
    take: (t) => removeRole(t, ProjectRole.PROJECT_ROLE_MEMBER),
  },
  {
    ...NEVER_REMEMBERED,
    what: 'a lead who is removed',
    given: { project: { members: [{ email: BOB, role: 'lead' }] } },
    reads: TOOLS,
    take: (t) => removeRole(t, ProjectRole.PROJECT_ROLE_LEAD),
  },
  {
    ...NEVER_REMEMBERED,
    what: 'a member whom an import leaves out',
    reads: TOOLS,
    take: (t) => load(t, [project({ members: [{ email: ANN }] })]),
  },
  {
    ...NEVER_REMEMBERED,
    what: 'a lead whom an import replaces',
    given: { project: { members: [{ email: BOB, role: 'lead' }] } },
    reads: TOOLS,
    take: (t) => load(t, [project({ members: [{ email: ANN, role: 'lead' }] })]),
  },
  {
    ...NEVER_REMEMBERED,
    what: 'a creator whom an import replaces',
    given: { project: { created_by: BOB, members: [] } },
    reads: TOOLS,
    take: (t) => load(t, [project({ created_by: ANN, members: [] })]),
  },
  {
    ...NEVER_REMEMBERED,
    what: 'a project that is deleted',
    reads: [...TOOLS, ...CALL_REST, PROJECT_DETAIL],
    take: (t) => load(t, [{ type: 'project', id: ALPHA, deleted: true }]),
  },
  {
    ...NEVER_REMEMBERED,
    what: 'a call that is deleted',
    reads: [...CALL_TOOLS, ...CALL_REST],
    take: (t) => load(t, [{ type: 'call', id: CALL, deleted: true }]),
  },
  {
    ...NEVER_REMEMBERED,
    what: 'a call that moves to another project',
    reads: CALL_TOOLS,
    take: (t) => load(t, [call({ project_id: BETA })]),
  },
  {
    ...NEVER_REMEMBERED,
    what: "a call that becomes another's",
    given: { call: { project_id: null, conducted_by: BOB } },
    reads: CALL_TOOLS,
    take: (t) => load(t, [call({ project_id: null, conducted_by: ANN })]),
  },
  {
    ...NEVER_REMEMBERED,
    what: 'an entity that is deleted',
    reads: [LIST_ENTITIES],
    take: (t) => load(t, [{ type: 'entity', id: ALPHA, deleted: true }]),
  },
];

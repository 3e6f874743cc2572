import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OPERATOR_ROLES, type OperatorRole } from '@crs/kit/rpc/operators';
import { client, type CallOptions } from '@crs/kit/rpc/client';
import { AuthAdminServiceService } from '@crs/proto/crs/auth/v1/admin';
import { CallsAdminServiceService } from '@crs/proto/crs/calls/v1/admin';
import { ErasureServiceService } from '@crs/proto/crs/erasures/v1/erasures';
import { ExportServiceService } from '@crs/proto/crs/exports/v1/exports';
import { ImportServiceService } from '@crs/proto/crs/imports/v1/imports';
import { ProjectsAdminServiceService } from '@crs/proto/crs/projects/v1/admin';
import { passTime } from '@crs/testing/pass-time';
import { ADMIN, failureOf, organization, startAuthWorld, type AuthWorld } from './_fixtures.ts';

type Method = { requestDeserialize: (bytes: Buffer) => unknown };
type AnyClient = Record<string, (request: unknown, options: CallOptions) => Promise<unknown>> & { close(): void };

const TENANTS = ['admin', 'manager'] as const;
const LISTS = ['admin', 'manager', 'viewer', 'auditor'] as const;
const IMPORTS = ['admin', 'importer'] as const;
const DELETIONS = ['admin', 'manager', 'importer'] as const;

/** The roles that each admin RPC admits. `none`: the operator token names no organization. A new RPC fails the tests until it is listed. */
const AUTH: Record<
  Exclude<keyof AuthAdminServiceService, 'issueOperatorToken'>,
  { roles: readonly OperatorRole[]; none?: true; bound?: false }
> = {
  createOrganization: { roles: TENANTS, bound: false },
  updateOrganization: { roles: TENANTS },
  setOrganizationSuspended: { roles: TENANTS },
  getOrganization: { roles: LISTS },
  listOrganizations: { roles: LISTS, none: true },
  createUser: { roles: TENANTS },
  listUsers: { roles: LISTS },
  updateUser: { roles: TENANTS },
  setUserDisabled: { roles: TENANTS },
  unlinkUser: { roles: TENANTS },
  setUserPassword: { roles: TENANTS },
  endUserSessions: { roles: TENANTS },
  addMember: { roles: TENANTS },
  removeMember: { roles: TENANTS },
  createKey: { roles: TENANTS },
  listKeys: { roles: LISTS },
  revokeKey: { roles: TENANTS },
  createToken: { roles: TENANTS },
  listTokens: { roles: LISTS },
  revokeToken: { roles: TENANTS },
  createScimToken: { roles: TENANTS },
  listScimTokens: { roles: LISTS },
  revokeScimToken: { roles: TENANTS },
  mapScimGroup: { roles: TENANTS },
  unmapScimGroup: { roles: TENANTS },
  listScimGroupMaps: { roles: LISTS },
  applyTenant: { roles: TENANTS },
  exportTenant: { roles: LISTS },
  reviewAccess: { roles: LISTS },
  rotateTokenKey: { roles: ['admin'], none: true, bound: false },
  listSigningKeys: { roles: ['admin', 'viewer', 'auditor'], none: true, bound: false },
  rotateSigningKey: { roles: ['admin'], none: true, bound: false },
  retireSigningKey: { roles: ['admin'], none: true, bound: false },
  getSecretStatus: { roles: ['admin', 'viewer', 'auditor'], none: true, bound: false },
  resealValues: { roles: ['admin'], none: true, bound: false },
  createClient: { roles: TENANTS, none: true, bound: false },
  listClients: { roles: LISTS, none: true, bound: false },
  removeClient: { roles: TENANTS, none: true, bound: false },
  finishErasure: { roles: DELETIONS },
  createOperator: { roles: ['admin'], none: true },
  listOperators: { roles: ['admin', 'viewer', 'auditor'], none: true },
  revokeOperator: { roles: ['admin'], none: true },
  listAudit: { roles: ['admin', 'auditor'] },
};

/** The same for the admin RPCs of calls. */
const CALLS: Record<keyof CallsAdminServiceService, readonly OperatorRole[]> = {
  createHold: ['admin'],
  listHolds: ['admin'],
  releaseHold: ['admin'],
  beginErasure: DELETIONS,
  runRetention: TENANTS,
};

interface AdminRpc {
  name: string;
  roles: readonly OperatorRole[];
  none: boolean;
  bound: boolean;
  call: (options: CallOptions) => Promise<unknown>;
}

let world: AuthWorld;
let rpcs: AdminRpc[];
const clients: AnyClient[] = [];

beforeAll(async () => {
  world = await startAuthWorld([organization('acme'), organization('globex')]);
  const { authAdmin, projectsAdmin, callsAdmin, entitiesAdmin } = world.stack.addresses;
  const open = (definition: object, address: string) => {
    const rpcClient = client(definition, { name: 'a service', address, timeoutMs: 10_000, retry: false }) as unknown as AnyClient;
    clients.push(rpcClient);
    return (method: string) => {
      const request = (definition as Record<string, Method>)[method]!.requestDeserialize(Buffer.alloc(0));
      return (options: CallOptions) => rpcClient[method]!(request, options);
    };
  };
  const auth = open(AuthAdminServiceService, authAdmin);
  const methods = Object.keys(AuthAdminServiceService).filter(
    (method) => method !== 'issueOperatorToken',
  ) as (keyof typeof AUTH)[];
  rpcs = methods.map((method) => {
    const { roles, none = false, bound = true } = AUTH[method];
    return { name: method, roles, none, bound, call: auth(method) };
  });
  const shared = { none: false, bound: true };
  for (const [service, address] of Object.entries({ authAdmin, projectsAdmin, callsAdmin, entitiesAdmin })) {
    for (const method of ['importRecords', 'checkRecords']) {
      rpcs.push({ ...shared, name: `${service} ${method}`, roles: IMPORTS, call: open(ImportServiceService, address)(method) });
    }
    const exportRecords = open(ExportServiceService, address)('exportRecords');
    rpcs.push({ ...shared, name: `${service} export`, roles: ['admin'], call: exportRecords });
    if (service === 'authAdmin') continue;
    rpcs.push({ ...shared, name: `${service} erase`, roles: DELETIONS, call: open(ErasureServiceService, address)('erase') });
  }
  const calls = open(CallsAdminServiceService, callsAdmin);
  for (const method of Object.keys(CallsAdminServiceService) as (keyof typeof CALLS)[]) {
    rpcs.push({ ...shared, name: method, roles: CALLS[method], call: calls(method) });
  }
  const projects = open(ProjectsAdminServiceService, projectsAdmin);
  rpcs.push({ ...shared, name: 'listProjects', roles: LISTS, call: projects('listProjects') });
  rpcs.push({ ...shared, name: 'findReferences', roles: IMPORTS, call: projects('findReferences') });
});
afterAll(async () => {
  for (const each of clients) each.close();
  await world?.close();
});

const admin = () => world.operator.auth;
const create = async (name: string, rights: Partial<typeof ADMIN> = {}, by?: CallOptions) =>
  (await admin().createOperator({ ...ADMIN, name, ...rights }, by ?? (await world.operate()))).credential;
const issue = async (credential: string, organizationId = ''): Promise<CallOptions> => ({
  token: (await admin().issueOperatorToken({ credential, organizationId })).operatorToken,
});
/** Calls every RPC. @returns each with its failure, if any */
const callAll = (optionsOf: (rpc: AdminRpc) => CallOptions) =>
  Promise.all(rpcs.map(async (rpc) => [rpc, await failureOf(rpc.call(optionsOf(rpc)))] as const));
const revoke = async (name: string) => admin().revokeOperator({ name }, await world.operate());
const INVALID = { kind: 'unauthenticated', reason: 'INVALID_OPERATOR' };

/** The tokens that the RPC may need: for one organization, or for none. */
const both = async (credential: string) => {
  const [one, none] = [await issue(credential, 'acme'), await issue(credential)];
  return ({ none: needsNone }: AdminRpc) => (needsNone ? none : one);
};

describe('an operator who was revoked', () => {
  it("can't create an operator with a token from before the revocation", async () => {
    const stolen = await issue(await create('thief'));
    await revoke('thief');
    expect(await failureOf(create('accomplice', {}, stolen))).toMatchObject(INVALID);
    const { operators } = await admin().listOperators({}, await world.operate());
    expect(operators.map(({ name }) => name)).not.toContain('accomplice');
  });

  it('is refused by every admin RPC of every service within a second, even with a token that was used before', async () => {
    const token = await both(await create('leaver'));
    for (const [{ name }, failure] of await callAll(token)) expect(failure, name).not.toMatchObject(INVALID);
    await revoke('leaver');
    passTime(1_001);
    for (const [{ name }, failure] of await callAll(token)) expect(failure, name).toMatchObject(INVALID);
  });

  it('is not admitted by an old token when a later operator has the same name', async () => {
    const before = await issue(await create('same'));
    await revoke('same');
    await create('same');
    expect(await failureOf(admin().listOrganizations({}, before))).toMatchObject(INVALID);
  });
});

it("an expired operator gets no new token, and can't use an old one", async () => {
  const credential = await create('temp', { expiresInSeconds: 3_600 });
  const token = await both(credential);
  await world.rows(`update auth.operators set expires_at = now() where name = 'temp'`);
  expect(await failureOf(issue(credential))).toMatchObject(INVALID);
  for (const [{ name }, failure] of await callAll(token)) expect(failure, name).toMatchObject(INVALID);
});

describe.each(OPERATOR_ROLES)('the role %s', (role) => {
  it('may call the RPCs that are listed for it, and no others', async () => {
    const token = await both(await create(`a ${role}`, { role }));
    for (const [{ name, roles }, failure] of await callAll(token)) {
      if (roles.includes(role)) expect(failure?.kind, name).not.toBe('permission_denied');
      else expect(failure, name).toMatchObject({ kind: 'permission_denied', reason: 'OPERATOR_ROLE' });
    }
  });
});

describe('an operator that is bound to an organization', () => {
  const BOUND = { kind: 'permission_denied', reason: 'OPERATOR_BOUND' };

  it('gets a token for that organization only', async () => {
    const credential = await create('bound', { organizationIds: ['acme'] });
    expect(await failureOf(issue(credential, 'acme'))).toBeUndefined();
    expect(await failureOf(issue(credential, 'globex'))).toMatchObject(BOUND);
  });

  it('is refused for another organization by every admin RPC, even with a token for it', async () => {
    const credential = await create('binding', { organizationIds: ['acme'] });
    const { createdAt } = (await admin().listOperators({}, await world.operate())).operators.find(
      ({ name }) => name === 'binding',
    )!;
    const identity = { kind: 'operator' as const, name: 'binding', since: createdAt!.toISOString(), organization: 'globex' };
    const forged = { token: await world.signer.sign(identity, 60) };
    const own = await both(credential);
    for (const [{ name, none }, failure] of await callAll(() => forged)) if (!none) expect(failure, name).toMatchObject(BOUND);
    for (const [{ name, bound }, failure] of await callAll(own)) {
      if (bound) expect(failure, name).not.toMatchObject(BOUND);
      else expect(failure, name).toMatchObject(BOUND);
    }
  });

  it("can't import a record of another organization, and gets no token for it", async () => {
    const credential = await create('night job', { role: 'importer', organizationIds: ['acme'] });
    expect(await failureOf(issue(credential, 'globex'))).toMatchObject(BOUND);
    const victim = { type: 'call', organization: 'globex', id: 'call-1', summary: 'overwritten' };
    const lines = [{ number: 1, json: Buffer.from(JSON.stringify(victim)), id: 'call-1' }];
    const answer = await world.operator.importers.calls.importRecords({ lines }, await issue(credential, 'acme'));
    expect(answer).toMatchObject({ accepted: 0, errors: [{ line: 1, field: 'organization' }] });
  });

  it('sees only its organization, its audit entries, and the operators that are bound to it', async () => {
    const token = await issue(await create('local admin', { organizationIds: ['acme'] }));
    const { organizations } = await admin().listOrganizations({}, token);
    expect(organizations.map(({ organizationId }) => organizationId)).toEqual(['acme']);
    const { entries } = await admin().listAudit({ limit: 1_000 }, token);
    expect(new Set(entries.map(({ organizationId }) => organizationId))).toEqual(new Set(['acme']));
    const { operators } = await admin().listOperators({}, token);
    expect(operators.map(({ organizationIds }) => organizationIds.join())).toEqual(operators.map(() => 'acme'));
    expect(await failureOf(admin().revokeOperator({ name: 'local' }, token))).toMatchObject({ kind: 'not_found' });
  });
});

describe("an operator's rights", () => {
  it('do not suffice to create an operator for other organizations or with a later expiry', async () => {
    const credential = await create('lesser', { organizationIds: ['acme'], expiresInSeconds: 3_600 });
    const by = await issue(credential);
    const within = { organizationIds: ['acme'], expiresInSeconds: 60 };
    const attempt = (rights: object) => failureOf(create('more', { ...within, ...rights }, by));
    expect(await attempt({ organizationIds: [] })).toMatchObject({ kind: 'permission_denied', field: 'organizations' });
    expect(await attempt({ organizationIds: ['acme', 'globex'] })).toMatchObject({
      kind: 'permission_denied',
      field: 'organizations',
    });
    expect(await attempt({ expiresInSeconds: 0 })).toMatchObject({ kind: 'permission_denied', field: 'expires_in' });
    expect(await attempt({ expiresInSeconds: 7_200 })).toMatchObject({ kind: 'permission_denied', field: 'expires_in' });
    expect(await attempt({})).toBeUndefined();
  });

  it('do not suffice to revoke the last admin of all organizations that does not expire', async () => {
    const lesser = await issue(await create('ends', { expiresInSeconds: 3_600 }));
    const others = (await admin().listOperators({}, lesser)).operators.filter(
      ({ name, revokedAt }) => name !== 'ends' && !revokedAt,
    );
    const outcomes = [];
    for (const { name } of others) outcomes.push(await failureOf(admin().revokeOperator({ name }, lesser)));
    expect(outcomes.filter((failure) => failure !== undefined)).toMatchObject([{ kind: 'failed_precondition', field: 'name' }]);
  });
});

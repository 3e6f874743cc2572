import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { KeyAccess } from '@crs/kit/rpc/admitted-callers';
import { KEY_RIGHTS, type KeyRight } from '@crs/kit/rpc/key-rights';
import { OAUTH_SCOPES, type OAuthScope } from '@crs/kit/rpc/scopes';
import { client, type CallOptions } from '@crs/kit/rpc/client';
import type { Identity } from '@crs/kit/rpc/identity';
import { AuthServiceService } from '@crs/proto/crs/auth/v1/auth';
import { CallsServiceService } from '@crs/proto/crs/calls/v1/calls';
import { EntitiesServiceService } from '@crs/proto/crs/entities/v1/entities';
import { FeedHeadsServiceService, FeedServiceService } from '@crs/proto/crs/feeds/v1/feeds';
import { ProjectsServiceService } from '@crs/proto/crs/projects/v1/projects';
import { RecordsServiceService } from '@crs/proto/crs/imports/v1/imports';
import { createToken } from '@crs/testing/credentials';
import { tenant } from '@crs/testing/world';
import { ANN, failureOf, organization, peopleAndProjects, sharedAuthWorld, type SharedAuthWorld } from './_fixtures.ts';

const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];

/** What an RPC requires: of the key, or one of these scopes of the user. `none`: neither may call it, or it checks no right. */
type Needs = KeyAccess | readonly OAuthScope[] | 'none';
const READ: KeyAccess = { rights: ['read'] };
const READ_SURFACE: KeyAccess = { rights: ['read'], writeSurface: true };
const WRITE: KeyAccess = { rights: ['write'], writeSurface: true };
const INGEST: KeyAccess = { rights: ['ingest'] };
const RECORDS: KeyAccess = { rights: ['ingest', 'delete'] };
const STORED = { ...FeedServiceService, ...RecordsServiceService };
type Definition = Record<string, { requestStream: boolean; requestDeserialize: (bytes: Buffer) => unknown }>;
type AnyClient = Record<string, (request: unknown, options: CallOptions) => Promise<unknown>>;

/** Rights by service and RPC. An RPC that isn't listed here fails the tests. */
const NEEDS: Record<string, [Definition, Record<string, Needs>]> = {
  auth: [
    { ...AuthServiceService, ...RecordsServiceService },
    {
      putRecords: RECORDS,
      authenticateKey: 'none',
      authenticateToken: 'none',
      authenticateScimToken: 'none',
      listCallerKeys: 'none',
      getVisibleProjects: OAUTH_SCOPES,
      getVisibilityVersion: OAUTH_SCOPES,
      getViewSettings: READ,
      resolveProfiles: WRITE,
      resolveReferences: RECORDS,
      describeReferences: INGEST,
      grantProject: WRITE,
      listProjectPeople: { rights: ['read', 'write'], writeSurface: true },
      putProjectGrants: INGEST,
      recordAudit: 'none',
      checkOperator: 'none',
      recordRefusal: 'none',
      recordKeyAction: { rights: KEY_RIGHTS },
      authenticateProgram: 'none',
      listSettingsVersions: 'none',
      recordProgramAction: 'none',
      beginErasure: 'none',
      getRetention: 'none',
    } satisfies Record<keyof AuthServiceService | 'putRecords', Needs>,
  ],
  calls: [
    { ...CallsServiceService, ...FeedHeadsServiceService, ...STORED },
    {
      putRecords: RECORDS,
      listOrganizationCalls: READ,
      getOrganizationCall: READ,
      listChanges: READ,
      listUserCalls: ['calls:read'],
      getUserCall: ['calls:read'],
      // The tool `list_projects` shows them, and its scope suffices.
      listProjectSegments: ['projects:read'],
      listFeedHeads: 'none',
    } satisfies Record<keyof CallsServiceService | keyof FeedHeadsServiceService | keyof typeof STORED, Needs>,
  ],
  projects: [
    { ...ProjectsServiceService, ...STORED },
    {
      putRecords: RECORDS,
      listBillingOffices: READ_SURFACE,
      createProject: WRITE,
      getProject: READ_SURFACE,
      listOrganizationProjects: READ_SURFACE,
      listChanges: READ_SURFACE,
      listUserProjects: ['projects:read'],
    } satisfies Record<keyof ProjectsServiceService | keyof typeof STORED, Needs>,
  ],
  entities: [
    { ...EntitiesServiceService, ...STORED },
    {
      putRecords: RECORDS,
      listOrganizationEntities: READ,
      listChanges: READ,
      listUserEntities: ['entities:read'],
    } satisfies Record<keyof EntitiesServiceService | keyof typeof STORED, Needs>,
  ],
};
const rpcs = Object.entries(NEEDS).flatMap(([service, [definition, needs]]) =>
  Object.keys(definition).map((method) => [service, method, needs[method]] as const),
);

/** Returns all subsets, the empty and the whole one included. */
const setsOf = <T>(items: readonly T[]) =>
  items.reduce<T[][]>((sets, item) => [...sets, ...sets.map((set) => [...set, item])], [[]]);

const SCOPE_SETS = setsOf(OAUTH_SCOPES);
const KEYS = [true, false].flatMap((writeSurface) => setsOf(KEY_RIGHTS).map((rights) => ({ writeSurface, rights })));

const REFUSED = { kind: 'permission_denied', reason: 'INSUFFICIENT_SCOPE' };

let world: SharedAuthWorld;
let userId: string;
const clients: Record<string, AnyClient> = {};

beforeAll(async () => {
  world = await sharedAuthWorld([...peopleAndProjects([ACME, GLOBEX]), organization(ACME, { write_surface: true })]);
  const [ann] = await world.rows<{ id: string }>('select user_id as id from auth.users where organization = $1 and email = $2', [
    ACME,
    ANN,
  ]);
  userId = ann!.id;
  const { addresses } = world.stack;
  for (const [service, [definition]] of Object.entries(NEEDS)) {
    const address = addresses[service as keyof typeof addresses];
    clients[service] = client(definition, { name: service, address, timeoutMs: 5_000, retry: false }) as unknown as AnyClient;
  }
});
afterAll(() => {
  for (const each of Object.values(clients)) (each as unknown as { close(): void }).close();
});

/** @returns the failure, or undefined if the call succeeds */
async function callWithEmptyRequest(service: string, method: string, identity: Identity) {
  const definition = NEEDS[service]![0][method]!;
  // The messages of a stream have the request as their second field, `body`.
  const request = definition.requestStream
    ? ((definition.requestDeserialize(Buffer.of(0x12, 0)) as { body?: unknown }).body ?? {})
    : definition.requestDeserialize(Buffer.alloc(0));
  return failureOf(clients[service]![method]!(request, { token: await world.signer.sign(identity, 30) }));
}

const user = (scopes: string[]): Identity => ({ kind: 'user', organization: ACME, userId, scopes });
const key = (access: { writeSurface: boolean; rights: KeyRight[] }): Identity => ({
  kind: 'organization',
  organization: ACME,
  keyId: 'k',
  allowedFields: [],
  anonymize: false,
  ...access,
});

it('a user token with only the scope projects:read gets no call', async () => {
  expect(await callWithEmptyRequest('calls', 'getUserCall', user(['projects:read']))).toMatchObject(REFUSED);
  expect(await callWithEmptyRequest('calls', 'getUserCall', user(['calls:read']))).toMatchObject({ kind: 'not_found' });
});

describe('a caller token', () => {
  const services = ['calls', 'projects', 'entities'];
  const READS = { calls: 'getUserCall', projects: 'listUserProjects', entities: 'listUserEntities', auth: 'getVisibleProjects' };
  const present = async (service: keyof typeof READS, token: string) => {
    const request = NEEDS[service]![0][READS[service]]!.requestDeserialize(Buffer.alloc(0));
    return (await failureOf(clients[service]![READS[service]]!(request, { token })))?.kind ?? 'answered';
  };
  const authenticate = async (audiences: string[]) =>
    world.auth.authenticateToken({ accessToken: await createToken(world.operator, ACME, ANN), audiences });

  it('is accepted only by the service that it was issued for, and by auth', async () => {
    const { callerTokens } = await authenticate(services);
    expect(Object.keys(callerTokens)).toEqual(services);
    for (const [audience, token] of Object.entries(callerTokens)) {
      for (const service of Object.keys(READS) as (keyof typeof READS)[]) {
        const outcome = expect(await present(service, token), `a token for ${audience} at ${service}`);
        if (service === audience || service === 'auth') outcome.not.toBe('unauthenticated');
        else outcome.toBe('unauthenticated');
      }
    }
  });

  it.each([[], ['auth of no such service'], ['Calls'], [''], ['calls', ...Array.from({ length: 10 }, () => 'calls')]])(
    'is not issued for %j',
    async (...audiences) => {
      expect(await failureOf(authenticate(audiences))).toMatchObject({ kind: 'invalid_argument', field: 'audiences' });
    },
  );
});

const isScopes = (needs: Needs | undefined): needs is readonly OAuthScope[] => Array.isArray(needs);

describe.each(rpcs)('%s.%s', (service, method, needs) => {
  it('admits users and keys with the rights that it needs, and no others', async () => {
    expect(needs).toBeDefined();
    if (isScopes(needs)) {
      for (const scopes of SCOPE_SETS) {
        const failure = await callWithEmptyRequest(service, method, user(scopes));
        if (needs.some((scope) => scopes.includes(scope))) expect(failure?.kind, scopes.join()).not.toBe('permission_denied');
        else expect(failure, scopes.join()).toMatchObject(REFUSED);
      }
      return;
    }
    if (needs === 'none' || needs === undefined) return;
    for (const access of KEYS) {
      const failure = await callWithEmptyRequest(service, method, key(access));
      const suffices =
        needs.rights.some((right) => access.rights.includes(right)) && (access.writeSurface || !needs.writeSurface);
      if (suffices) expect(failure?.kind, JSON.stringify(access)).not.toBe('permission_denied');
      else expect(failure, JSON.stringify(access)).toMatchObject(REFUSED);
    }
  });
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { client, type CallOptions } from '@crs/kit/rpc/client';
import type { IdentityKind } from '@crs/kit/rpc/identity';
import { AuthAdminServiceService } from '@crs/proto/crs/auth/v1/admin';
import { AuthServiceService } from '@crs/proto/crs/auth/v1/auth';
import { ExportServiceService } from '@crs/proto/crs/exports/v1/exports';
import { ImportServiceService } from '@crs/proto/crs/imports/v1/imports';
import { tenant } from '@crs/testing/world';
import { ANN, failureOf, organization, peopleAndProjects, sharedAuthWorld, type SharedAuthWorld } from './_fixtures.ts';

const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];

/** The kinds of identity that each RPC admits. A new RPC fails the tests until it is listed here. */
const INTERNAL: Record<
  keyof AuthServiceService,
  readonly IdentityKind[] | 'anyone' | 'the token to check' | 'the refused token'
> = {
  authenticateKey: 'anyone',
  authenticateToken: 'anyone',
  authenticateScimToken: 'anyone',
  listCallerKeys: 'anyone',
  getVisibleProjects: ['user'],
  getVisibilityVersion: ['user'],
  getViewSettings: ['organization', 'program'],
  resolveProfiles: ['organization'],
  resolveReferences: ['operator', 'organization'],
  describeReferences: ['operator', 'organization'],
  grantProject: ['organization'],
  listProjectPeople: ['organization'],
  putProjectGrants: ['operator', 'organization'],
  recordAudit: ['operator'],
  checkOperator: 'the token to check',
  recordRefusal: 'the refused token',
  recordKeyAction: ['organization'],
  authenticateProgram: 'anyone',
  // Only a program token for no organization: see services/webhooks/test/rights.test.ts.
  listSettingsVersions: [],
  recordProgramAction: ['program'],
  beginErasure: ['operator'],
  getRetention: ['operator'],
};

/** The admin RPCs for an operator of no organization. Every other admin RPC is for an operator of one organization. */
const NEEDS_NO_TOKEN = ['issueOperatorToken'];
const ABOVE_TENANTS = [
  'listOrganizations',
  'createOperator',
  'listOperators',
  'revokeOperator',
  'rotateTokenKey',
  'listSigningKeys',
  'rotateSigningKey',
  'retireSigningKey',
  'getSecretStatus',
  'resealValues',
  'createClient',
  'listClients',
  'removeClient',
];
const EITHER = ['listAudit'];

interface Method {
  path: string;
  requestDeserialize: (bytes: Buffer) => unknown;
}
type Definition = Record<string, Method>;
type AnyClient = Record<string, (request: unknown, options: CallOptions) => Promise<unknown>> & { close(): void };

const ADMIN: [string, Definition][] = [
  ['AuthAdminService', AuthAdminServiceService],
  ['ImportService', ImportServiceService],
  ['ExportService', ExportServiceService],
];
const adminMethods = ADMIN.flatMap(([service, definition]) =>
  Object.keys(definition).map((method) => [service, method] as const),
);

type Caller = 'no token' | 'a malformed token' | 'an expired operator token' | IdentityKind | 'operator of none';

let world: SharedAuthWorld;
let callers: Record<Caller, CallOptions>;
let clients: Record<string, AnyClient>;
const moreClients: AnyClient[] = [];

beforeAll(async () => {
  world = await sharedAuthWorld([...peopleAndProjects([ACME, GLOBEX]), organization(ACME, { write_surface: true })]);
  await renewCallers();
  const options = { name: 'auth', address: world.stack.addresses.authAdmin, timeoutMs: 5_000, retry: false };
  clients = Object.fromEntries(
    [...ADMIN, ['AuthService', AuthServiceService as unknown as Definition] as const].map(([service, definition]) => {
      const address = service === 'AuthService' ? world.stack.addresses.auth : options.address;
      return [service, client(definition, { ...options, address }) as unknown as AnyClient];
    }),
  );
});
afterAll(() => {
  for (const each of [...Object.values(clients ?? {}), ...moreClients]) each.close();
});

let renewedAt = 0;
/** A caller token lives 30 s, and the tests may take longer. */
async function renewCallers(): Promise<void> {
  if (Date.now() - renewedAt < 10_000) return;
  renewedAt = Date.now();
  callers = {
    'no token': {},
    'a malformed token': { token: 'x' },
    'an expired operator token': {
      token: await world.signer.sign(
        { kind: 'operator', name: 'local', since: new Date(0).toISOString(), organization: ACME },
        -1,
      ),
    },
    organization: await world.asOrganization(ACME),
    user: await world.asUser(ACME, ANN),
    operator: await world.operate(ACME),
    program: { token: await world.signer.sign({ kind: 'program', program: 'webhooks', organization: ACME }, 30) },
    'operator of none': await world.operate(),
  };
}

/** @returns the kind of the failure, or `answered` */
async function callWithEmptyRequest(service: string, method: string, caller: Caller): Promise<string> {
  const definition =
    service === 'AuthService' ? (AuthServiceService as unknown as Definition) : ADMIN.find(([name]) => name === service)![1];
  const request = definition[method]!.requestDeserialize(Buffer.alloc(0));
  await renewCallers();
  const failure = await failureOf(clients[service]![method]!(request, callers[caller]));
  return failure?.kind ?? 'answered';
}

const NOT_ADMITTED = ['unauthenticated', 'permission_denied', 'internal', 'unavailable'];

describe.each(adminMethods)('%s.%s', (service, method) => {
  if (NEEDS_NO_TOKEN.includes(method)) {
    it('checks the credential in the request and ignores any token', async () => {
      for (const caller of Object.keys(callers) as Caller[])
        expect(await callWithEmptyRequest(service, method, caller), caller).toBe('unauthenticated');
    });
    return;
  }

  it.each<Caller>(['no token', 'a malformed token', 'an expired operator token'])(
    'returns unauthenticated to a caller with %s',
    async (caller) => {
      expect(await callWithEmptyRequest(service, method, caller)).toBe('unauthenticated');
    },
  );

  it.each<Caller>(['organization', 'user', 'program'])('returns permission_denied to a caller of kind %s', async (caller) => {
    expect(await callWithEmptyRequest(service, method, caller)).toBe('permission_denied');
  });

  it('admits an operator token for one organization, or for none, as this test lists', async () => {
    const [one, none] = [
      await callWithEmptyRequest(service, method, 'operator'),
      await callWithEmptyRequest(service, method, 'operator of none'),
    ];
    if (EITHER.includes(method) || !ABOVE_TENANTS.includes(method)) expect(NOT_ADMITTED).not.toContain(one);
    else expect(one).toBe('permission_denied');
    if (EITHER.includes(method) || ABOVE_TENANTS.includes(method)) expect(NOT_ADMITTED).not.toContain(none);
    else expect(none).toBe('permission_denied');
  });
});

describe.each(Object.keys(AuthServiceService))('AuthService.%s', (method) => {
  const admits = INTERNAL[method as keyof AuthServiceService] ?? [];
  if (admits === 'anyone') {
    it('needs no identity, and returns the same outcome to every caller', async () => {
      const outcomes = new Set<string>();
      for (const caller of Object.keys(callers) as Caller[])
        outcomes.add(await callWithEmptyRequest('AuthService', method, caller));
      expect([...outcomes]).toHaveLength(1);
      // An empty request has no credential either.
      expect(['answered', 'unauthenticated']).toEqual(expect.arrayContaining([...outcomes]));
    });
    return;
  }

  if (admits === 'the token to check') {
    it('succeeds for operators only', async () => {
      for (const caller of Object.keys(callers) as Caller[]) {
        const isOperator = caller === 'operator' || caller === 'operator of none';
        expect(await callWithEmptyRequest('AuthService', method, caller), caller).toBe(
          isOperator ? 'answered' : 'unauthenticated',
        );
      }
    });
    return;
  }
  if (admits === 'the refused token') {
    it('accepts any token, and refuses an empty action', async () => {
      for (const caller of Object.keys(callers) as Caller[])
        expect(await callWithEmptyRequest('AuthService', method, caller), caller).toBe('invalid_argument');
    });
    return;
  }

  it.each<Caller>(['no token', 'a malformed token', 'an expired operator token'])(
    'returns unauthenticated to a caller with %s',
    async (caller) => {
      expect(await callWithEmptyRequest('AuthService', method, caller)).toBe('unauthenticated');
    },
  );

  it.each<IdentityKind>(['organization', 'user', 'operator', 'program'])(
    `admits callers of kind ${admits.join(' or ')} only: a call by %s`,
    async (kind) => {
      const outcome = await callWithEmptyRequest('AuthService', method, kind);
      if (admits.includes(kind)) expect(NOT_ADMITTED).not.toContain(outcome);
      else expect(outcome).toBe('permission_denied');
    },
  );
});

describe('the listeners', () => {
  it('are separate: the internal listener serves no admin RPC, and the admin listener no internal RPC', async () => {
    const { auth, authAdmin } = world.stack.addresses;
    const shared = { name: 'auth', timeoutMs: 5_000, retry: false };
    const wrong = [
      ...ADMIN.map(([, definition]) => ({ definition, address: auth })),
      { definition: AuthServiceService as unknown as Definition, address: authAdmin },
    ];
    // The client retries an RPC that isn't offered, because another replica may offer it, so these calls run concurrently.
    const calls = wrong.flatMap(({ definition, address }) => {
      const connected = client(definition, { ...shared, address }) as unknown as AnyClient;
      moreClients.push(connected);
      return Object.entries(definition).map(
        ([method, { requestDeserialize }]) =>
          [method, connected[method]!(requestDeserialize(Buffer.alloc(0)), callers.operator)] as const,
      );
    });
    await Promise.all(
      calls.map(
        ([method, call]) => expect(call, method).rejects.toMatchObject({ reason: 'NOT_OFFERED', cause: { code: 12 } }), // UNIMPLEMENTED
      ),
    );
  });
});

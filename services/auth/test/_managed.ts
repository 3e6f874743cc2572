/** The test environment of enterprise-managed authorization: two organizations, each with an issuer of identity assertions. */
import { randomUUID } from 'node:crypto';
import { decodeJwt } from 'jose';
import { TOOLS_URL } from '@crs/testing/world';
import type { OrganizationSettings } from '@crs/proto/crs/auth/v1/admin';
import { startAssertionIssuer, type AssertionIssuer } from './_assertion-issuer.ts';
import { ANN, BOB, organization, startAuthWorld, TENANTS, user, type SharedAuthWorld } from './_fixtures.ts';
import { startReplica } from './_replica.ts';
import { Browser, CALLBACK, RESOURCE, token } from './_sign-in.ts';

type Tenant = (typeof TENANTS)[number];

/** A client, and the parameters that authenticate it. */
export interface TestClient {
  clientId: string;
  form: Record<string, string>;
}

/** Replaces claims. Depends on the time in epoch seconds. */
export type ClaimChange = object | ((now: number) => object);

interface SendOptions {
  client?: TestClient;
  more?: Record<string, string>;
  at?: Browser;
}

interface Exchanged {
  status: number;
  body: Record<string, string>;
}

export interface ManagedWorld extends SharedAuthWorld {
  issuers: Record<Tenant, AssertionIssuer>;
  /** Further issuers, which no organization lists at first. Auth caches the keys of each, so tests that change its metadata use one each. */
  second: AssertionIssuer;
  third: AssertionIssuer;
  /** A client with a secret that an operator registered. */
  client: TestClient;
  /** A client that is the URL of its metadata document. */
  documentClient: TestClient;
  /** Lists each organization's own issuer, and removes links, grants and the trail. */
  reset(): Promise<void>;
  update(tenant: Tenant, settings: Partial<OrganizationSettings>): Promise<unknown>;
  /** The claims of a valid assertion about Ann, with changes. */
  claims(tenant: Tenant, change?: ClaimChange): Record<string, unknown>;
  /** Sends an assertion of the tenant's issuer. */
  exchange(from: Tenant, options?: SendOptions & { claims?: ClaimChange }): Promise<Exchanged>;
  send(assertion: string, options?: SendOptions): Promise<Exchanged>;
  /** A browser of auth, and one of another replica. */
  browser(): Browser;
  replica(): Browser;
  whoIs(accessToken: string): Promise<{ organization: string; email: string; scopes: string[]; clientId: string }>;
  /** Whether auth still accepts the token. */
  isLive(accessToken: string): Promise<boolean>;
  /** The trail of all organizations without their settings, each entry as `organization actor action target outcome count`. */
  trail(): Promise<string[]>;
}

export const DOMAINS = { acme: ['example.com'], globex: ['globex.example'] };
/** A user of globex. `example.com` belongs to acme, which therefore has an Ann with another address. */
export const ANN_OF_GLOBEX = 'ann@globex.example';
export const EMAILS = { acme: ANN, globex: ANN_OF_GLOBEX };
export const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

const ABSENT = {
  name: undefined,
  writeSurface: undefined,
  anonymizeInterviewees: undefined,
  allowedFields: undefined,
  rateLimit: undefined,
  toolRateLimit: undefined,
  oidcProvider: undefined,
  assertionIssuers: undefined,
  clients: undefined,
  clientHosts: undefined,
  ownTokens: undefined,
};

function changesAt(now: number, change: ClaimChange = {}): object {
  return typeof change === 'function' ? (change as (now: number) => object)(now) : change;
}

let shared: Promise<ManagedWorld> | undefined;

export function sharedManaged(): Promise<ManagedWorld> {
  return (shared ??= startManaged());
}

async function startManaged(): Promise<ManagedWorld> {
  const [acme, globex, second, third] = await Promise.all([
    startAssertionIssuer(),
    startAssertionIssuer(),
    startAssertionIssuer(),
    startAssertionIssuer(),
  ]);
  const issuers = { acme, globex };
  const settings = { oidcAllowHosts: [acme, globex, second, third].map(({ host }) => ({ host })), cimdAllowHosts: [acme.host] };
  const records = TENANTS.flatMap((tenant) => [
    organization(tenant),
    user(tenant, ANN),
    user(tenant, BOB),
    user(tenant, ANN_OF_GLOBEX),
  ]);
  const world = await startAuthWorld(records, settings);
  const replica = await startReplica(world, { ...settings, accessTokenSeconds: 600 });
  const browser = () => new Browser(world.stack.addresses.authHttp);
  const { client, clientSecret } = await world.operator.auth.createClient(
    { name: 'Enterprise assistant', redirectUris: [CALLBACK], withSecret: true },
    await world.operate(),
  );
  const preRegistered = {
    clientId: client!.clientId,
    form: { client_id: client!.clientId, client_secret: clientSecret },
  };
  const documentId = `${acme.issuer}/client.json`;
  acme.documents.set('/client.json', {
    client_id: documentId,
    client_name: 'Published assistant',
    redirect_uris: [CALLBACK],
    token_endpoint_auth_method: 'none',
  });
  const update = async (tenant: Tenant, change: Partial<OrganizationSettings>) =>
    world.operator.auth.updateOrganization({ settings: { ...ABSENT, ...change } }, await world.operate(tenant));
  const claims = (tenant: Tenant, change: ClaimChange = {}) => {
    const now = Math.floor(Date.now() / 1_000);
    return {
      ...{ iss: issuers[tenant].issuer, sub: 'ann-1', aud: TOOLS_URL, resource: RESOURCE, client_id: preRegistered.clientId },
      ...{ jti: randomUUID(), iat: now, exp: now + 300, email: EMAILS[tenant], scope: 'calls:read projects:read' },
      ...changesAt(now, change),
    };
  };
  const send: ManagedWorld['send'] = async (assertion, { client: by = preRegistered, more, at = browser() } = {}) => {
    const { status, body } = await token(at, { grant_type: JWT_BEARER, assertion, ...by.form, ...more });
    return { status, body };
  };
  return {
    ...world,
    issuers,
    second,
    third,
    client: preRegistered,
    documentClient: { clientId: documentId, form: { client_id: documentId } },
    update,
    reset: async () => {
      await world.rows('delete from auth.user_identities');
      await world.rows('delete from auth.grants');
      for (const tenant of TENANTS) {
        const provider = { issuer: issuers[tenant].issuer, clientId: 'crs', domains: DOMAINS[tenant] };
        await update(tenant, {
          oidcProvider: { ...provider, clientSecret: undefined, emailProof: undefined },
          assertionIssuers: { issuers: [issuers[tenant].issuer] },
        });
      }
      await world.rows('delete from auth.audit');
    },
    claims,
    send,
    exchange: async (from, { claims: change, ...options } = {}) => {
      const clientId = (options.client ?? preRegistered).clientId;
      const claimed = claims(from, (now) => ({ client_id: clientId, ...changesAt(now, change) }));
      return send(await issuers[from].sign(claimed), options);
    },
    browser,
    replica: () => new Browser(replica.http),
    whoIs: async (accessToken) => {
      const found = await world.auth.authenticateToken({ accessToken, audiences: ['calls'] });
      const { organizationId, scopes, clientId } = found;
      const [row] = await world.rows<{ email: string }>('select email from auth.users where organization = $1 and user_id = $2', [
        organizationId,
        decodeJwt(accessToken).sub,
      ]);
      return { organization: organizationId, email: row!.email, scopes, clientId };
    },
    isLive: (accessToken) =>
      world.auth.authenticateToken({ accessToken, audiences: ['calls'] }).then(
        () => true,
        () => false,
      ),
    trail: async () => {
      const rows = await world.rows<{ entry: string }>(
        `select concat_ws(' ', organization, actor, action, target, outcome, count) as entry from auth.audit
          where action !~ '^(organization|token)' order by audit_id`,
      );
      return rows.map(({ entry }) => entry);
    },
  };
}

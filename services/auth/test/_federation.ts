/** The test environment of federation: two organizations, each with its own identity provider, and helpers that sign in through them. */
import { decodeJwt } from 'jose';
import { TOOLS_URL } from '@crs/testing/world';
import type { OidcProviderSettings } from '@crs/proto/crs/auth/v1/admin';
import { ANN, BOB, organization, startAuthWorld, TENANTS, user, type SharedAuthWorld } from './_fixtures.ts';
import { CLIENT, startIdentityProvider, type IdentityProvider } from './_identity-provider.ts';
import { startReplica } from './_replica.ts';
import { authorizePath, Browser, pkce, redeem, register, type Answer } from './_sign-in.ts';

type Tenant = (typeof TENANTS)[number];

export interface FederationWorld extends SharedAuthWorld {
  /** The provider of each organization. */
  idps: Record<Tenant, IdentityProvider>;
  /** A provider that gives e-mails only by userinfo and expects our secret in the body. */
  thin: IdentityProvider;
  /** A provider where we are a public client, without a secret. */
  open: IdentityProvider;
  /** A provider that names its issuer neither in its responses nor in its metadata. */
  nameless: IdentityProvider;
  /** A free port for a provider that a test starts and stops. */
  spare: { port: number };
  /** The password of every user. */
  password: string;
  /** Removes all links and gives each organization its own provider. */
  reset(): Promise<void>;
  setProvider(tenant: Tenant, provider: Partial<OidcProviderSettings>): Promise<void>;
  /** A browser that reaches auth through the tool gateway. */
  browser(): Browser;
  /** A browser whose requests reach two replicas of auth in turn. */
  browserOfReplicas(): Browser;
  /** A browser of a replica of auth that is served over https. */
  secureBrowser(): Browser;
  /** A browser of a replica of auth whose default organization is acme. */
  browserOfDefault(): Browser;
  /** The authorization path of an assistant whose users still have to name their organization. */
  authorizePath(): string;
  /** Starts a sign-in, up to the redirect to the organization's provider, which is `externalUrl`. */
  begin(tenant: string, browser?: Browser): Promise<{ browser: Browser; page: Answer; externalUrl: URL }>;
  /** Signs in at the provider and follows its redirect back, which `change` may alter. */
  comeBack(tenant: Tenant, change?: (answer: URL) => void): Promise<Answer>;
  /** Comes back from acme's provider. @returns the text of the page and the new audit entries */
  comeBackToAcme(change?: (answer: URL) => void): Promise<{ page: string; entries: string[] }>;
  /** The audit entries of one refusal of acme. */
  refusalOf(reason: string): string[];
  /** Connects an assistant, from sign-in to tokens. */
  connect(tenant: Tenant, idp?: IdentityProvider, browser?: Browser): Promise<{ accessToken: string; page: Answer; back: URL }>;
  whoIs(accessToken: string): Promise<{ organization: string; email: string }>;
  /** The links, each as `organization issuer subject e-mail`. */
  links(): Promise<string[]>;
  /** The audit entries that appear during the work, each as `organization actor action target outcome address`. */
  auditOf(work: () => Promise<unknown>): Promise<string[]>;
}

/** Users of globex only. An e-mail domain belongs to one organization, and `example.com` to acme, so globex needs users of another domain. */
export const ANN_OF_GLOBEX = 'ann@globex.example';
export const BOB_OF_GLOBEX = 'bob@globex.example';

const PASSWORD = 'correct horse battery';
const DOMAINS = { acme: ['example.com', 'acme.example'], globex: ['globex.example'] };

let shared: Promise<FederationWorld> | undefined;

/**
 * The test environment that all test files about federation share. Only this one allows the providers, which listen on this machine. Each test starts with
 * `reset`.
 */
export function sharedFederation(): Promise<FederationWorld> {
  return (shared ??= startFederation());
}

async function startFederation(): Promise<FederationWorld> {
  const [acme, globex, thin, open, nameless, stopped] = await Promise.all([
    startIdentityProvider(),
    startIdentityProvider(),
    startIdentityProvider({ emailInIdToken: false, authentication: 'client_secret_post' }),
    startIdentityProvider({ authentication: 'none' }),
    startIdentityProvider({ namesIssuer: false }),
    startIdentityProvider(),
  ]);
  await stopped.stop();
  const idps = { acme, globex };
  const oidcAllowHosts = [acme, globex, thin, open, nameless, stopped].map(({ host }) => ({ host }));
  const records = TENANTS.flatMap((tenant) => [
    organization(tenant),
    user(tenant, ANN, { password: PASSWORD }),
    user(tenant, BOB, { password: PASSWORD }),
  ]).concat(user('globex', ANN_OF_GLOBEX), user('globex', BOB_OF_GLOBEX));
  const world = await startAuthWorld(records, { oidcAllowHosts });
  const [replica, secure, withDefault] = await Promise.all([
    startReplica(world, { oidcAllowHosts }),
    startReplica(world, { toolsUrl: TOOLS_URL.replace('http:', 'https:'), oidcAllowHosts }),
    startReplica(world, { oidcAllowHosts, defaultOrganization: 'acme' }),
  ]);
  const { addresses } = world.stack;

  const setProvider = async (tenant: Tenant, provider: Partial<OidcProviderSettings>) => {
    const settings = {
      name: undefined,
      writeSurface: undefined,
      anonymizeInterviewees: undefined,
      allowedFields: undefined,
      rateLimit: undefined,
      toolRateLimit: undefined,
      deleteLimit: undefined,
      assertionIssuers: undefined,
      oidcProvider: { domains: DOMAINS[tenant], ...provider },
    };
    await world.operator.auth.updateOrganization({ settings }, await world.operate(tenant));
  };
  const gateway = () => new Browser(addresses.tools);
  const clientId: string = (await register(gateway())).body.client_id;
  const begin = async (tenant: string, browser = gateway(), more = pkce()) => {
    const path = authorizePath(clientId, more.challenge, { organization: tenant });
    const { page } = await browser.open(path);
    const { externalUrl, page: end } = await browser.submit(page, {});
    if (!externalUrl) throw new Error(`not sent to the provider: ${textOf(end)}\n${world.log.slice(-3).join('')}`);
    return { browser, page, externalUrl };
  };
  const comeBack = async (tenant: Tenant, change?: (answer: URL) => void) => {
    const { browser, externalUrl } = await begin(tenant);
    const back = await idps[tenant].signIn(externalUrl);
    change?.(back);
    return (await browser.open(back.pathname + back.search)).page;
  };
  const auditOf = async (work: () => Promise<unknown>) => {
    // Within a minute, equal refusals only increment the count of their first entry, so delete earlier ones.
    await world.rows(`delete from auth.audit where action = 'sign-in.refuse'`);
    const [before] = await world.rows<{ id: string }>('select coalesce(max(audit_id), 0) as id from auth.audit');
    await work();
    const rows = await world.rows<{ entry: string }>(
      `select concat_ws(' ', organization, actor, action, target, outcome, address) as entry from auth.audit where audit_id > $1 order by audit_id`,
      [before!.id],
    );
    return rows.map(({ entry }) => entry);
  };

  return {
    ...world,
    idps,
    thin,
    open,
    nameless,
    spare: { port: Number(new URL(stopped.issuer).port) },
    password: PASSWORD,
    reset: async () => {
      await world.rows('delete from auth.user_identities');
      for (const tenant of TENANTS) await setProvider(tenant, { ...CLIENT, issuer: idps[tenant].issuer });
    },
    setProvider,
    browser: gateway,
    browserOfReplicas: () => new Browser(addresses.authHttp, replica.http),
    secureBrowser: () => new Browser(secure.http),
    browserOfDefault: () => new Browser(withDefault.http),
    authorizePath: () => authorizePath(clientId, pkce().challenge),
    begin,
    comeBack,
    comeBackToAcme: async (change) => {
      let page = '';
      const entries = await auditOf(async () => (page = textOf(await comeBack('acme', change))));
      return { page, entries };
    },
    refusalOf: (reason) => [`acme sign-in sign-in.refuse ${reason} at ${acme.issuer} unauthenticated 127.0.0.1`],
    connect: async (tenant, idp = idps[tenant], browser = gateway()) => {
      const { verifier, challenge } = pkce();
      const { page, externalUrl } = await begin(tenant, browser, { verifier, challenge });
      const back = await idp.signIn(externalUrl);
      const consent = await browser.open(back.pathname + back.search);
      const { externalUrl: called } = await browser.submit(consent.page, { decision: 'allow' });
      if (!called) throw new Error(`not called back: ${textOf(consent.page)}\n${world.log.slice(-3).join('')}`);
      const { body } = await redeem(browser, clientId, called.searchParams.get('code')!, verifier);
      return { accessToken: body.access_token as string, page, back };
    },
    whoIs: async (accessToken) => {
      const { organizationId } = await world.auth.authenticateToken({ accessToken, audiences: ['calls'] });
      const [row] = await world.rows<{ email: string }>('select email from auth.users where organization = $1 and user_id = $2', [
        organizationId,
        decodeJwt(accessToken).sub,
      ]);
      return { organization: organizationId, email: row!.email };
    },
    links: async () => {
      const rows = await world.rows<{ link: string }>(
        `select concat_ws(' ', organization, issuer, subject, email) as link
          from auth.user_identities join auth.users using (organization, user_id) order by organization, issuer, subject`,
      );
      return rows.map(({ link }) => link);
    },
    auditOf,
  };
}

/** The visible text of a page. */
export function textOf({ status, text }: Answer): string {
  const main = /<main[^>]*>(.*)<\/main>/s.exec(text)?.[1] ?? text;
  return `${status} ${main
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()}`;
}

import type { Response } from 'express';
import type { Configuration, KoaContextWithOIDC } from 'oidc-provider';
import { loggedClientId } from '@crs/kit/http/access-log';
import { stateOf } from '@crs/kit/http/request';
import { OAUTH_SCOPES } from '@crs/kit/rpc/scopes';
import { ALGORITHM, type KeyPair } from '../keys/key-ring.ts';
import { findAccount, parseAccountId } from './accounts.ts';
import { createAdapter } from './adapter.ts';
import { ClientFetches } from './client-fetches.ts';
import {
  adaptMetadata,
  CONSENT_GRANTS,
  isPreRegistered,
  newSelfRegisteredId,
  openRedirectUriProblem,
  redirectUriProblem,
} from './clients.ts';
import type { SignInContext } from './context.ts';
import { cookieKeys, cookieSettings } from './cookies.ts';
import { isBusy } from './fetch-pool.ts';
import { GuardedFetchError } from '@crs/kit/http/guarded-fetch';
import { ManagedAccess } from './managed/managed-access.ts';
import { errors, interactionPolicy, Provider } from './oidc-library.ts';
import { isTransient, renderBusy, renderError } from './page-error.ts';
import { logUser } from './request.ts';
import { TOOLS } from './resource-server.ts';

/** From its last use. */
const REFRESH_TOKEN_SECONDS = 60 * 86_400;
export const CONSENT_SECONDS = 365 * 86_400;
const INTERACTION_SECONDS = 3_600;
/** From the sign-in, whether or not the session is used. */
export const SESSION_SECONDS = 12 * 3_600;
/** The latest expiry of a `client_assertion`. Each is stored until it expires, and anybody can register a client. */
const ASSERTION_SECONDS = 600;

/** The authorization server: OAuth 2.1 for the MCP tools, and nothing else. @param pairs the first one signs */
export function createProvider(context: SignInContext, pairs: KeyPair[]) {
  const { issuer, secrets, log, accessTokenSeconds } = context;
  const resource = context.accessTokens.audience;
  const { names, options } = cookieSettings(issuer);
  const fetches = new ClientFetches(context);
  const keys = pairs.map(({ keyId, privateKey }) => ({
    ...privateKey.export({ format: 'jwk' }),
    kid: keyId,
    alg: ALGORITHM,
    use: 'sig',
  }));
  const configuration: Configuration = {
    adapter: (model) => createAdapter(context, model),
    jwks: { keys },
    routes: {
      authorization: '/authorize',
      token: '/token',
      registration: '/register',
      revocation: '/revoke',
      jwks: '/jwks',
    },
    responseTypes: ['code'],
    scopes: [...OAUTH_SCOPES],
    clientAuthMethods: ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'],
    assertJwtClientAuthClaimsAndHeader: async (_ctx, { exp }) => {
      if (Number(exp) > Date.now() / 1_000 + ASSERTION_SECONDS)
        throw new errors.InvalidClientAuth(`client_assertion must expire within ${ASSERTION_SECONDS} s`);
    },
    clientDefaults: { grant_types: CONSENT_GRANTS, id_token_signed_response_alg: ALGORITHM },
    clientBasedCORS: () => true,
    discovery: { authorization_grant_profiles_supported: ['urn:ietf:params:oauth:grant-profile:id-jag'] },
    pkce: { required: () => true },
    extraParams: ['organization'],
    cookies: { names, long: options, short: options, keys: cookieKeys(secrets) },
    features: {
      devInteractions: { enabled: false },
      dPoP: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      userinfo: { enabled: false },
      revocation: { enabled: true, allowedPolicy: (_ctx, client, token) => token.clientId === client.clientId },
      registration: { enabled: true, idFactory: newSelfRegisteredId, issueRegistrationAccessToken: false },
      clientIdMetadataDocument: {
        enabled: true,
        ack: 'draft-02',
        // `fetch` below refuses forbidden URLs, as for all other URLs from clients.
        allowFetch: async (ctx, clientId) => {
          await fetches.prepare(ctx, clientId);
          return true;
        },
      },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => resource,
        getResourceServerInfo: (_ctx, requested) => {
          if (requested !== resource) throw new errors.InvalidTarget();
          return TOOLS;
        },
      },
    },
    formats: {
      customizers: {
        jwt: (_ctx, token, { payload }) => {
          if (token.kind !== 'AccessToken') return;
          const { organization, userId } = parseAccountId(token.accountId);
          Object.assign(payload, { sub: userId, organization, grant_id: token.grantId });
        },
      },
    },
    ttl: {
      AccessToken: accessTokenSeconds,
      AuthorizationCode: 60,
      RefreshToken: REFRESH_TOKEN_SECONDS,
      Grant: CONSENT_SECONDS,
      Interaction: INTERACTION_SECONDS,
      Session: (_ctx, { loginTs }) => secondsLeft(loginTs),
      // Never issued, but oidc-provider requires a value.
      IdToken: accessTokenSeconds,
    },
    expiresWithSession: () => false,
    issueRefreshToken: (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    rotateRefreshToken: true,
    findAccount: async (ctx, accountId, token) => {
      const account = await findAccount(context, accountId, token);
      if (account) logUser(ctx.res as Response, accountId);
      return account;
    },
    // Each connection has its own consent, so earlier Grants don't count.
    loadExistingGrant: async ({ oidc }) => {
      const grantId = oidc.result?.consent?.grantId;
      return grantId === undefined ? undefined : oidc.provider.Grant.find(grantId);
    },
    interactions: { policy: createPolicy(), url: (_ctx, { uid }) => `${issuer}/sign-in/${uid}` },
    extraClientMetadata: {
      // Runs before oidc-provider's own checks, for clients from every source.
      properties: ['application_type'],
      validator: (_ctx, _name, _value, metadata) => {
        adaptMetadata(metadata);
        const uris = Array.isArray(metadata.redirect_uris) ? metadata.redirect_uris : [];
        const problemOf = isPreRegistered(String(metadata.client_id)) ? redirectUriProblem : openRedirectUriProblem;
        const problem = uris.map((uri) => problemOf(String(uri))).find((each) => each !== undefined);
        if (problem) throw new errors.InvalidClientMetadata(`redirect_uris ${problem}`);
      },
    },
    fetch: (url, init) =>
      fetches.fetch(Provider.ctx!, url instanceof Request ? url.url : String(url), new Headers(init?.headers)),
    renderError,
  };
  const provider = new Provider(issuer, configuration);
  new ManagedAccess(context).register(provider);
  // Trusts the headers that `pinOrigin` sets.
  provider.proxy = true;
  const busy = new WeakSet<object>();
  provider.use(async (koaContext, next) => {
    const ctx = koaContext as KoaContextWithOIDC;
    await next();
    // oidc-provider turns a full fetch pool into `invalid_client`, which would make an assistant register again.
    if (busy.has(ctx)) renderBusy(ctx);
    // oidc-provider always lists `openid`, although this server issues no id tokens, and modes that `adaptAuthorization` refuses.
    if (ctx.oidc?.route === 'discovery')
      Object.assign(ctx.body as object, { scopes_supported: OAUTH_SCOPES, response_modes_supported: ['query'] });
  });
  // Operators need this when an assistant can't connect. It leaves out the messages of other causes, which may quote the request.
  const logRefusal = (ctx: KoaContextWithOIDC, refused: InstanceType<typeof errors.OIDCProviderError>) => {
    const { oidc } = ctx;
    const { message: error, error_detail: detail, cause } = refused;
    const reason = cause instanceof GuardedFetchError ? cause.reason : undefined;
    if (isBusy(refused)) busy.add(ctx);
    log.info({ route: oidc.route, client: oidc.client?.clientId, error, detail, reason }, 'refused');
  };
  provider.on('grant.success', ({ oidc, res }) => {
    const grant_id = oidc.entities.AccessToken?.grantId;
    Object.assign(stateOf(res as Response).logFields, { client_id: loggedClientId(oidc.client?.clientId), grant_id });
  });
  provider
    .on('authorization.error', logRefusal)
    .on('grant.error', logRefusal)
    .on('registration_create.error', logRefusal)
    .on('revocation.error', logRefusal);
  provider.on('server_error', (ctx, error) => {
    log.error({ err: error, route: ctx.oidc?.route }, 'request not served');
    if (!isTransient(error)) return;
    ctx.status = 503;
    ctx.set('Retry-After', '1');
  });
  return provider;
}

/** The remaining lifetime of a session. @param loginTs the sign-in, in epoch seconds. Undefined: nobody has signed in yet */
function secondsLeft(loginTs: number | undefined): number {
  const now = Math.floor(Date.now() / 1_000);
  // oidc-provider requires at least one second.
  return Math.max(1, (loginTs ?? now) + SESSION_SECONDS - now);
}

/**
 * Requires a sign-in if nobody is signed in, and consent for every authorization, because a consent belongs to one connection of one
 * assistant, and because anybody can register a client.
 */
function createPolicy() {
  const { base, Check, Prompt } = interactionPolicy;
  const policy = base();
  policy
    .get('login')!
    .checks.add(
      new Check('account_gone', 'the End-User is gone', 'login_required', ({ oidc }) =>
        oidc.session?.accountId !== undefined && !oidc.account ? Check.REQUEST_PROMPT : Check.NO_NEED_TO_PROMPT,
      ),
    );
  policy.remove('consent');
  policy.add(
    new Prompt(
      { name: 'consent', requestable: true },
      new Check('connection', 'consent is asked each time', 'consent_required', ({ oidc }) =>
        oidc.result?.consent ? Check.NO_NEED_TO_PROMPT : Check.REQUEST_PROMPT,
      ),
    ),
  );
  return policy;
}

import type { Response } from 'express';
import type { Configuration, KoaContextWithOIDC } from 'oidc-provider';
import { loggedClientId } from '@crs/kit/http/register';
import { stateOf } from '@crs/kit/http/request';
import { OAUTH_SCOPES } from '@crs/kit/rpc/scopes';
import { ALGORITHM, type KeyPair } from '../keys/key-ring.ts';
import { findAccount, parseAccountId } from './accounts.ts';
import { createAdapter } from './adapter.ts';
import { ClientFetches } from './client-fetches.ts';
import { adaptMetadata, isPreRegistered, newSelfRegisteredId, openRedirectUriProblem, redirectUriProblem } from './clients.ts';
import type { SignInContext } from './context.ts';
import { cookieKeys, cookieSettings } from './cookies.ts';
import { isBusy } from './fetch-pool.ts';
import { GuardedFetchError } from './guarded-fetch.ts';
import { errors, interactionPolicy, Provider } from './oidc-library.ts';
import { isAway, renderBusy, renderError } from './problem.ts';
import { noteUser } from './request.ts';

const ACCESS_TOKEN_SECONDS = 600;
/** Counted from its last use. */
const REFRESH_TOKEN_SECONDS = 60 * 86_400;
/** After this time the user is asked for consent again. */
export const CONSENT_SECONDS = 365 * 86_400;
const INTERACTION_SECONDS = 3_600;
/** Counted from the sign-in, however much the session is used. */
export const SESSION_SECONDS = 12 * 3_600;
/** How far in the future a client's own proof may expire. It is remembered until then, and anybody can register a client. */
const ASSERTION_SECONDS = 600;

/** The authorization server: OAuth 2.1 for the MCP tools, and nothing else. @param pairs the first one signs */
export function createProvider(context: SignInContext, pairs: KeyPair[]) {
  const { issuer, secrets, log } = context;
  const resource = context.accessTokens.audience;
  const { names, options } = cookieSettings(issuer);
  const { session, interaction, resume } = names;
  const fetches = new ClientFetches(context);
  const keys = pairs.map(({ keyId, privateKey }) => {
    return { ...privateKey.export({ format: 'jwk' }), kid: keyId, alg: ALGORITHM, use: 'sig' };
  });
  const configuration: Configuration = {
    adapter: (model) => createAdapter(context, model),
    jwks: { keys },
    routes: {
      authorization: '/authorize',
      token: '/token',
      registration: '/register',
      revocation: '/revoke',
      jwks: '/jwks',
      end_session: '/sign-in/end',
    },
    responseTypes: ['code'],
    scopes: [...OAUTH_SCOPES],
    clientAuthMethods: ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'],
    assertJwtClientAuthClaimsAndHeader: async (_ctx, { exp }) => {
      if (Number(exp) > Date.now() / 1_000 + ASSERTION_SECONDS)
        throw new errors.InvalidClientAuth(`client_assertion must expire within ${ASSERTION_SECONDS} s`);
    },
    clientDefaults: { grant_types: ['authorization_code', 'refresh_token'], id_token_signed_response_alg: ALGORITHM },
    clientBasedCORS: () => true,
    pkce: { required: () => true },
    extraParams: ['organization'],
    cookies: { names: { session, interaction, resume }, long: options, short: options, keys: cookieKeys(secrets) },
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
        // `fetch` below refuses what may not be fetched, as it does for every other address that a client names.
        allowFetch: async (ctx, clientId) => {
          await fetches.prepare(ctx, clientId);
          return true;
        },
      },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => resource,
        getResourceServerInfo: (_ctx, asked) => {
          if (asked !== resource) throw new errors.InvalidTarget();
          return { scope: OAUTH_SCOPES.join(' '), accessTokenFormat: 'jwt', jwt: { sign: { alg: ALGORITHM } } };
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
      AccessToken: ACCESS_TOKEN_SECONDS,
      AuthorizationCode: 60,
      RefreshToken: REFRESH_TOKEN_SECONDS,
      Grant: CONSENT_SECONDS,
      Interaction: INTERACTION_SECONDS,
      Session: (_ctx, { loginTs }) => secondsLeft(loginTs),
      // Never issued, but oidc-provider wants a value.
      IdToken: ACCESS_TOKEN_SECONDS,
    },
    expiresWithSession: () => false,
    issueRefreshToken: (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    rotateRefreshToken: true,
    findAccount: async (ctx, accountId, token) => {
      const account = await findAccount(context, accountId, token);
      if (account) noteUser(ctx.res as Response, accountId);
      return account;
    },
    // Each connection has a consent of its own, so earlier Grants don't count.
    loadExistingGrant: async ({ oidc }) => {
      const grantId = oidc.result?.consent?.grantId;
      return grantId === undefined ? undefined : oidc.provider.Grant.find(grantId);
    },
    interactions: { policy: createPolicy(), url: (_ctx, { uid }) => `${issuer}/sign-in/${uid}` },
    extraClientMetadata: {
      // This validator runs before oidc-provider's own checks, for clients from every source.
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
  // `pinOrigin` sets the headers that this trusts.
  provider.proxy = true;
  const busy = new WeakSet<object>();
  provider.use(async (ctx, next) => {
    await next();
    // Not the client's fault: `invalid_client`, which oidc-provider makes of it, would have an assistant register again.
    if (busy.has(ctx)) renderBusy(ctx);
    // oidc-provider always lists `openid`, but this server issues no id tokens. It also lists modes that `adaptAuthorization` refuses.
    if ((ctx as KoaContextWithOIDC).oidc?.route === 'discovery')
      Object.assign(ctx.body as object, { scopes_supported: OAUTH_SCOPES, response_modes_supported: ['query'] });
  });
  // Operators need this when an assistant can't connect. Messages of other causes are left out, because they may quote the request.
  const note = (ctx: KoaContextWithOIDC, refused: InstanceType<typeof errors.OIDCProviderError>) => {
    const { oidc } = ctx;
    const { message: error, error_detail: detail, cause } = refused;
    const reason = cause instanceof GuardedFetchError ? cause.reason : undefined;
    if (isBusy(refused)) busy.add(ctx);
    log.info({ route: oidc.route, client: oidc.client?.clientId, error, detail, reason }, 'refused');
  };
  provider.on('grant.success', ({ oidc, res }) => {
    const grant_id = oidc.entities.AccessToken?.grantId;
    Object.assign(stateOf(res as Response).facts, { client_id: loggedClientId(oidc.client?.clientId), grant_id });
  });
  provider
    .on('authorization.error', note)
    .on('grant.error', note)
    .on('registration_create.error', note)
    .on('revocation.error', note);
  provider.on('server_error', (ctx, error) => {
    log.error({ err: error, route: ctx.oidc?.route }, 'request not served');
    if (!isAway(error)) return;
    ctx.status = 503;
    ctx.set('Retry-After', '1');
  });
  return provider;
}

/** How long a session may still last. @param loginTs the time of the sign-in, in epoch seconds; undefined: nobody has signed in yet */
function secondsLeft(loginTs: number | undefined): number {
  const now = Math.floor(Date.now() / 1_000);
  // oidc-provider wants at least one second.
  return Math.max(1, (loginTs ?? now) + SESSION_SECONDS - now);
}

/**
 * An authorization asks for sign-in if nobody is signed in. It asks for consent each time, because a consent belongs to one connection of
 * one assistant, and because anybody can register a client.
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

import * as oidc from 'openid-client';
import { unstorable } from '@crs/kit/text';
import type { ProviderHost } from '../../config.ts';
import { FetchesBusy, isBusy, type FetchPool } from '../fetch-pool.ts';
import { guardedFetch, GuardedFetchError, type GuardedFetchOptions } from '@crs/kit/http/guarded-fetch';
import { providerFault } from './refusals.ts';

/** The limit of the OpenID Connect standard, in characters. */
const MAX_SUBJECT_LENGTH = 255;

/** This service as a client of an organization's OpenID provider. */
interface RelyingParty {
  issuer: string;
  clientId: string;
  clientSecret: string | undefined;
  redirectUri: string;
  fetch: oidc.CustomFetch;
}

/** Random values of one sign-in. The provider's response must match them. */
export interface Checks {
  state: string;
  nonce: string;
  codeVerifier: string;
}

/** A user whom the provider has authenticated. */
export interface Identity {
  subject: string;
  /** The provider's claims about the e-mail, from the userinfo endpoint if the id token has none. @throws SignInRefusal */
  email: () => Promise<EmailClaims>;
}

/** Claims as the provider sent them, of any type. Undefined: not sent. */
export interface EmailClaims {
  email: unknown;
  email_verified: unknown;
  /** Microsoft Entra's: whether its directory owns the domain of the address. Only of an id token that has the address. */
  xms_edov: unknown;
}

export function newChecks(): Checks {
  return { state: oidc.randomState(), nonce: oidc.randomNonce(), codeVerifier: oidc.randomPKCECodeVerifier() };
}

/** The URL of the provider's sign-in page. A non-empty e-mail becomes its login hint. @throws SignInRefusal, FetchesBusy */
export function authorizationUrl(party: RelyingParty, { state, nonce, codeVerifier }: Checks, email: string): Promise<string> {
  return blamingProvider(async () => {
    const url = oidc.buildAuthorizationUrl(await discover(party), {
      redirect_uri: party.redirectUri,
      scope: 'openid email',
      state,
      nonce,
      code_challenge: await oidc.calculatePKCECodeChallenge(codeVerifier),
      code_challenge_method: 'S256',
      ...(email !== '' && { login_hint: email }),
    });
    return url.href;
  });
}

/** Exchanges the authorization response for the user's identity. @throws SignInRefusal, FetchesBusy */
export function redeem(party: RelyingParty, parameters: URLSearchParams, checks: Checks): Promise<Identity> {
  return blamingProvider(async () => {
    const configuration = await discover(party);
    oidc.enableNonRepudiationChecks(configuration);
    const url = new URL(party.redirectUri);
    url.search = parameters.toString();
    const tokens = await oidc.authorizationCodeGrant(configuration, url, {
      expectedState: checks.state,
      expectedNonce: checks.nonce,
      pkceCodeVerifier: checks.codeVerifier,
      idTokenExpected: true,
    });
    const claims = tokens.claims()!;
    if (claims.sub.length > MAX_SUBJECT_LENGTH || unstorable(claims.sub)) throw new Error('the subject can not be stored');
    return {
      subject: claims.sub,
      email: () =>
        blamingProvider(async () => {
          const isElsewhere = claims['email'] === undefined && configuration.serverMetadata().userinfo_endpoint !== undefined;
          if (!isElsewhere)
            return { email: claims['email'], email_verified: claims['email_verified'], xms_edov: claims['xms_edov'] };
          const { email, email_verified } = await oidc.fetchUserInfo(configuration, tokens.access_token, claims.sub);
          return { email, email_verified, xms_edov: undefined };
        }),
    };
  });
}

/** Turns every failure into a refusal that names the provider, except a full fetch pool, which isn't the provider's fault. */
async function blamingProvider<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw isBusy(error) ? new FetchesBusy() : providerFault(error);
  }
}

async function discover({ issuer, clientId, clientSecret, fetch }: RelyingParty): Promise<oidc.Configuration> {
  const configuration = await oidc.discovery(new URL(issuer), clientId, undefined, authentication(clientSecret), {
    [oidc.customFetch]: fetch,
  });
  // The library accepts another issuer for some multi-tenant providers. Any tenant of theirs could then sign users in here.
  if (new URL(configuration.serverMetadata().issuer).href !== new URL(issuer).href)
    throw new Error('the provider names another issuer in its metadata');
  return configuration;
}

function authentication(secret: string | undefined): oidc.ClientAuth {
  if (secret === undefined) return oidc.None();
  const [post, basic] = [oidc.ClientSecretPost(secret), oidc.ClientSecretBasic(secret)];
  return (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported ?? [];
    const onlyPost = methods.includes('client_secret_post') && !methods.includes('client_secret_basic');
    return (onlyPost ? post : basic)(server, ...rest);
  };
}

/**
 * A fetch for openid-client that is bounded by a pool and by {@link guardedFetch}.
 * @param allowHosts `host:port` of the provider's hosts that may be at any port and address
 */
export function fetcherOf(
  organization: string,
  fetches: FetchPool,
  options: Pick<GuardedFetchOptions, 'allowHosts' | 'proxyUrl'>,
): oidc.CustomFetch {
  return async (url, { method, headers, body }) => {
    if ((method !== 'GET' && method !== 'POST') || (body && !(body instanceof URLSearchParams)))
      throw new GuardedFetchError('the request is neither GET nor a POST of a form');
    // Metadata and keys are the same for everybody; tokens and userinfo belong to one user.
    const isForAll = method === 'GET' && !new Headers(headers).has('authorization');
    return fetches.fetch(organization, isForAll ? url : undefined, () =>
      guardedFetch(url, { method, headers, body: body?.toString(), ...options }),
    );
  };
}

/**
 * The `host:port` entries that may be at any port and address for an organization's provider. An entry for all organizations counts only
 * on the issuer's own host. Otherwise the metadata of any organization's provider could send requests to every listed host.
 */
export function allowedHosts(entries: readonly ProviderHost[], organization: string, issuer: string): string[] {
  const { hostname, port } = new URL(issuer);
  const issuerHost = `${hostname}:${port || '443'}`;
  const isAllowed = (entry: ProviderHost) =>
    entry.organization === undefined ? entry.host.toLowerCase() === issuerHost : entry.organization === organization;
  return entries.filter(isAllowed).map(({ host }) => host);
}

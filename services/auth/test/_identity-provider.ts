/** Identity providers in this process, over TLS, for the tests of federation. */
import { createServer, type Server } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { decodeJwt, exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWTPayload } from 'jose';
import Provider from 'oidc-provider';
import { selfSigned } from '@crs/testing/certificate';
import { TOOLS_URL } from '@crs/testing/world';

/** An account at the organization's provider. */
export interface Person {
  sub: string;
  email?: string | undefined;
  email_verified?: unknown;
  /** Microsoft Entra's claim. */
  xms_edov?: unknown;
  preferred_username?: string;
}

/** An organization's identity provider, in this process, over TLS. */
export interface IdentityProvider {
  issuer: string;
  /** `host:port`. */
  host: string;
  /** The person who signs in next. Undefined: the provider refuses. */
  person: Person | undefined;
  /** Forges the id token of the next token responses. Undefined: the provider is honest. */
  forgery: Forgery | undefined;
  /** Signs the person in at this authorization URL. @returns the URL that the provider redirects the browser to */
  signIn(url: URL): Promise<URL>;
  /** The paths of all requests so far. */
  requestedPaths: string[];
  stop(): Promise<void>;
}

/** Forges an id token from the claims of the real one. `sign` signs with the key that the provider publishes, or with `by`. */
export type Forgery = (claims: JWTPayload, sign: (claims: JWTPayload, by?: CryptoKey) => Promise<string>) => Promise<string>;

export const CLIENT = { clientId: 'call-research', clientSecret: 'the secret of a test: +/= %' };

/** All providers here use this certificate, and this process trusts it. */
export const CERTIFICATE = selfSigned('localhost');
setDefaultCACertificates([...getCACertificates('default'), CERTIFICATE.cert]);

interface Settings {
  /** Default: a free port. */
  port?: number;
  /** Whether the id token has the e-mail, which userinfo always has. */
  emailInIdToken?: boolean;
  /** How the client authenticates; default `client_secret_basic`. */
  authentication?: 'client_secret_basic' | 'client_secret_post' | 'none';
  /** Whether its authorization responses and its metadata name the issuer (RFC 9207). Many providers don't. Default: true. */
  namesIssuer?: boolean;
}

export async function startIdentityProvider(settings: Settings = {}): Promise<IdentityProvider> {
  const { port = 0, emailInIdToken = true, authentication = 'client_secret_basic', namesIssuer = true } = settings;
  let handle: (request: IncomingMessage, response: ServerResponse) => void;
  const server = createServer(CERTIFICATE, (request, response) => handle(request, response));
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const host = `localhost:${(server.address() as AddressInfo).port}`;
  const idp: IdentityProvider = {
    issuer: `https://${host}`,
    host,
    person: undefined,
    forgery: undefined,
    requestedPaths: [],
    signIn: async (url) => {
      const answer = await signIn(idp, url);
      if (!namesIssuer) answer.searchParams.delete('iss');
      return answer;
    },
    stop: () => stop(server),
  };
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  const provider = await createProvider(idp, privateKey, { emailInIdToken, authentication });
  const answer = provider.callback();
  handle = (request, response) => {
    idp.requestedPaths.push(request.url!.replace(/\?.*/, ''));
    if (request.url === '/.well-known/openid-configuration' && !namesIssuer)
      rewrite(response, (metadata) => ({ ...metadata, authorization_response_iss_parameter_supported: undefined }));
    if (request.url === '/token' && idp.forgery) forge(idp.forgery, idp.host, privateKey, response);
    if (request.url!.startsWith('/interaction/')) void interact(provider, idp, request, response);
    else void answer(request, response);
  };
  return idp;
}

/** Replaces the id token of a token response with a forged one. */
function forge(forgery: Forgery, kid: string, key: CryptoKey, response: ServerResponse): void {
  const sign = (claims: JWTPayload, by = key) => new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid }).sign(by);
  rewrite(response, async (tokens) => ({ ...tokens, id_token: await forgery(decodeJwt(String(tokens['id_token'])), sign) }));
}

type Body = Record<string, unknown>;

/** Changes the JSON of a response before it is sent. */
function rewrite(response: ServerResponse, change: (body: Body) => Body | Promise<Body>): void {
  const end = response.end.bind(response);
  const replace = async (body: string) => {
    const changed = JSON.stringify(await change(JSON.parse(body) as Body));
    response.setHeader('content-length', Buffer.byteLength(changed));
    end(changed);
  };
  response.end = ((body: string) => {
    void replace(String(body));
    return response;
  }) as typeof response.end;
}

async function createProvider(
  idp: IdentityProvider,
  privateKey: CryptoKey,
  settings: Required<Pick<Settings, 'emailInIdToken' | 'authentication'>>,
): Promise<Provider> {
  const key = { ...(await exportJWK(privateKey)), alg: 'ES256', use: 'sig', kid: idp.host };
  return new Provider(idp.issuer, {
    jwks: { keys: [key] },
    clients: [
      {
        client_id: CLIENT.clientId,
        ...(settings.authentication !== 'none' && { client_secret: CLIENT.clientSecret }),
        token_endpoint_auth_method: settings.authentication,
        id_token_signed_response_alg: 'ES256',
        redirect_uris: ['acme', 'globex'].map((organization) => `${TOOLS_URL}/sign-in/callback/${organization}`),
      },
    ],
    clientAuthMethods: [settings.authentication],
    claims: { openid: ['sub'], email: ['email', 'email_verified', 'xms_edov', 'preferred_username'] },
    conformIdTokenClaims: !settings.emailInIdToken,
    findAccount: (_ctx, sub) => ({ accountId: sub, claims: () => ({ ...idp.person, sub }) }),
    pkce: { required: () => true },
    cookies: { keys: ['of a test'] },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
  });
}

/** Signs the person in without a page, as a provider does if the browser already has a session. */
async function interact(
  provider: Provider,
  { person }: IdentityProvider,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (!person) {
    await provider.interactionFinished(request, response, { error: 'access_denied', error_description: 'not you' });
    return;
  }
  const grant = new provider.Grant({ accountId: person.sub, clientId: CLIENT.clientId });
  grant.addOIDCScope('openid email');
  const result = { login: { accountId: person.sub }, consent: { grantId: await grant.save() } };
  await provider.interactionFinished(request, response, result);
}

/** Follows the redirects of a sign-in, without earlier cookies. */
async function signIn({ issuer }: IdentityProvider, url: URL): Promise<URL> {
  const cookies = new Map<string, string>();
  let next = url;
  for (let hops = 0; hops < 10; hops++) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(next, { redirect: 'manual', headers: { cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!;
      cookies.set(name!, value!);
    }
    const location = response.headers.get('location');
    if (!location) throw new Error(`${next.href}: ${response.status} ${await response.text()}`);
    next = new URL(location, next);
    if (next.origin !== issuer) return next;
  }
  throw new Error('too many redirects');
}

async function stop(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}

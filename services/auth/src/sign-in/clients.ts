import type { AllClientMetadata, ClientMetadata } from 'oidc-provider';
import type { Encrypter } from '@crs/kit/data/encrypter';
import { randomBase62 } from '@crs/kit/api-key';
import type { ClientRow } from '../store/clients.ts';

/** The prefix of a client id tells whether an operator or the client itself registered it. A URL names a metadata document instead. */
const PRE_REGISTERED = 'client_';
const SELF_REGISTERED = 'dcr_';

export function newClientId(): string {
  return `${PRE_REGISTERED}${randomBase62(22)}`;
}

export function newSelfRegisteredId(): string {
  return `${SELF_REGISTERED}${randomBase62(22)}`;
}

export function isPreRegistered(clientId: string): boolean {
  return clientId.startsWith(PRE_REGISTERED);
}

function isSelfRegistered(clientId: string): boolean {
  return clientId.startsWith(SELF_REGISTERED);
}

/** Who has verified a client's name: an operator, the host of its metadata document, or nobody but the client itself. */
export type ClientSource = { kind: 'operator' } | { kind: 'document'; host: string } | { kind: 'self' };

export function sourceOf(clientId: string): ClientSource {
  if (isPreRegistered(clientId)) return { kind: 'operator' };
  const host = URL.parse(clientId)?.host;
  return host === undefined ? { kind: 'self' } : { kind: 'document', host };
}

export function clientMetadata(
  { clientId, name, redirectUris, secretEncrypted }: ClientRow,
  encrypter: Encrypter,
): ClientMetadata {
  return {
    client_id: clientId,
    client_name: name,
    redirect_uris: redirectUris,
    ...(secretEncrypted
      ? {
          client_secret: encrypter.decrypt(secretEncrypted, clientId).toString(),
          token_endpoint_auth_method: 'client_secret_post',
        }
      : { token_endpoint_auth_method: 'none' }),
  };
}

/** The client's name for pages and the audit trail: without invisible characters, and shortened. */
export function clientNameOf({ clientName, clientId }: { clientName?: string | undefined; clientId: string }): string {
  const name = (clientName ?? '').replace(/[\p{C}\p{Z}]+/gu, ' ').trim();
  return Array.from(name || clientId)
    .slice(0, 100)
    .join('');
}

export const CONSENT_GRANTS = ['authorization_code', 'refresh_token'];
/** The grant of identity assertions. */
export const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Schemes of well-known assistants that aren't reversed domain names. */
const KNOWN_SCHEMES = new Set(['claude:', 'cursor:', 'vscode:', 'vscode-insiders:', 'warp:', 'windsurf:']);

/**
 * A reversed domain name, such as `com.example.app` (RFC 8252, section 7.1). Its first label is a top-level domain, so it has only letters.
 * That excludes `x-apple.systempreferences`, which opens the settings of macOS.
 */
const REVERSED_DOMAIN = /^[a-z]+\.[a-z0-9.+-]+:$/;

/** Begins the schemes of programs that come with Windows, such as `microsoft.windows.camera`. */
const WINDOWS_PREFIX = 'microsoft.windows.';

/** Schemes that browsers handle themselves instead of opening an app. */
const BROWSER_SCHEME = /^(?:about|blob|data|file|filesystem|ftp|javascript|vbscript|view-source|wss?):$/;

/**
 * Why an operator can't register a redirect URI; undefined if it is allowed. Apps may use any scheme of their own, and programs on the
 * user's machine http on a loopback address. All other clients use https.
 */
export function redirectUriProblem(uri: string): string | undefined {
  const url = URL.parse(uri);
  if (!url || uri.includes('#')) return 'must be absolute URIs without a fragment';
  const isElsewhere = url.protocol === 'http:' && !LOOPBACK.has(url.hostname);
  if (isElsewhere || BROWSER_SCHEME.test(url.protocol)) return 'must be https, a loopback address or an app of the user';
  return undefined;
}

/**
 * Like {@link redirectUriProblem}, for clients that anybody can create: self-registered ones and metadata documents. Their schemes must be
 * reversed domain names or well known, because most short schemes (`search-ms:`, `shell:`, `ms-settings:`, `tel:`) open a part of the
 * operating system, and no list of those is complete.
 */
export function openRedirectUriProblem(uri: string): string | undefined {
  const { protocol = '' } = URL.parse(uri) ?? {};
  const isApp = KNOWN_SCHEMES.has(protocol) || (REVERSED_DOMAIN.test(protocol) && !protocol.startsWith(WINDOWS_PREFIX));
  if (/^https?:$/.test(protocol) || isApp) return redirectUriProblem(uri);
  return (
    'must be https, http on a loopback address, or an app’s scheme that is a reversed domain name, such as com.example.app:/callback. ' +
    'Use one of these, or ask the operator of this service to register the client'
  );
}

/**
 * Reduces a client's metadata to what this server supports, because assistants request more grant types, scopes and algorithms than it has.
 * Derives the application type from the redirect URIs, because few clients state it: only a native client may use any loopback port.
 */
export function adaptMetadata(metadata: AllClientMetadata): void {
  const { redirect_uris: uris, grant_types: grants, response_types: responses } = metadata;
  if (Array.isArray(uris) && uris.every((uri) => typeof uri === 'string')) {
    const isNative = uris.some((uri) => {
      const { protocol = '', hostname = '' } = URL.parse(uri) ?? {};
      return (protocol === 'http:' && LOOPBACK.has(hostname)) || !/^https?:/i.test(uri);
    });
    metadata.application_type = isNative ? 'native' : 'web';
  }
  // An identity provider names the client in its assertion. It can't know those that anybody registers under a random id.
  if (!isSelfRegistered(String(metadata.client_id))) metadata.grant_types = [...CONSENT_GRANTS, JWT_BEARER];
  else if (Array.isArray(grants)) metadata.grant_types = [...CONSENT_GRANTS];
  if (Array.isArray(responses)) metadata.response_types = ['code'];
  for (const name of IGNORED) delete metadata[name];
}

const IGNORED = [
  // Any client may request any scope at any time. The user decides.
  'scope',
  'id_token_signed_response_alg',
  'contacts',
  'default_max_age',
  'require_auth_time',
  'response_modes',
  'sector_identifier_uri',
  'subject_type',
];

import type { AllClientMetadata, ClientMetadata } from 'oidc-provider';
import { randomBase62 } from '@crs/kit/product/api-key';
import { Seal } from '@crs/kit/data/seal';
import type { ClientRow } from '../store/clients.ts';

/** The id says where a client comes from: an operator, itself, or (a URL) its metadata document. */
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

/** Seals the secrets of clients that an operator has registered, each bound to its client. */
export function clientSecrets(secret: string): Seal {
  return new Seal(secret, 'client-secrets');
}

export function clientMetadata({ clientId, name, redirectUris, secretSealed }: ClientRow, secrets: Seal): ClientMetadata {
  return {
    client_id: clientId,
    client_name: name,
    redirect_uris: redirectUris,
    ...(secretSealed
      ? { client_secret: secrets.open(secretSealed, clientId).toString(), token_endpoint_auth_method: 'client_secret_post' }
      : { token_endpoint_auth_method: 'none' }),
  };
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

export function isLoopback(uri: string): boolean {
  const url = URL.parse(uri);
  return url?.protocol === 'http:' && LOOPBACK.has(url.hostname);
}

/** Schemes that make a browser run or show something instead of opening an app. */
const NO_APP = new Set([
  'about:',
  'blob:',
  'data:',
  'file:',
  'filesystem:',
  'ftp:',
  'javascript:',
  'vbscript:',
  'view-source:',
  'ws:',
  'wss:',
]);

/**
 * Why a redirect URI can't be, or undefined. Apps have schemes of their own, programs on the user's machine listen on loopback; all else
 * is https.
 */
export function redirectUriProblem(uri: string): string | undefined {
  const url = URL.parse(uri);
  if (!url || uri.includes('#')) return 'must be absolute URIs without a fragment';
  const isElsewhere = url.protocol === 'http:' && !LOOPBACK.has(url.hostname);
  if (isElsewhere || NO_APP.has(url.protocol)) return 'must be https, a loopback address or an app of the user';
  return undefined;
}

/**
 * Makes of what a client says of itself what this server supports: assistants ask for more grant types, scopes and algorithms than
 * there are. Whether it is native, so that its loopback port is free, shows in its redirect URIs, which few say.
 */
export function adaptMetadata(metadata: AllClientMetadata): void {
  const { redirect_uris: uris, grant_types: grants, response_types: responses } = metadata;
  if (Array.isArray(uris) && uris.every((uri) => typeof uri === 'string')) {
    const isNative = uris.some((uri) => isLoopback(uri) || !/^https?:/i.test(uri));
    metadata.application_type = isNative ? 'native' : 'web';
  }
  if (Array.isArray(grants)) metadata.grant_types = ['authorization_code', 'refresh_token'];
  if (Array.isArray(responses)) metadata.response_types = ['code'];
  // Any client may ask for any of our scopes, later too; the user decides.
  for (const name of IGNORED) delete metadata[name];
}

const IGNORED = [
  'scope',
  'id_token_signed_response_alg',
  'contacts',
  'default_max_age',
  'require_auth_time',
  'response_modes',
  'sector_identifier_uri',
  'subject_type',
];

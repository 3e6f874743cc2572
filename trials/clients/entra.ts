/** A directory whose discovery document, paths and id tokens have the form of Microsoft Entra's. */
import { Events, OAuth2Server } from 'oauth2-mock-server';
import type { CertificateFiles } from './certificate.ts';

export const CLIENT_ID = 'call-research';

/** The claims of an account that an id token has besides those of every account. */
export interface Account {
  oid: string;
  email?: string;
  preferred_username?: string;
  email_verified?: boolean;
  xms_edov?: boolean | number | string;
  /** An id token of another directory, which the same keys sign. */
  tid?: string;
}

export interface Directory {
  issuer: string;
  /** `host:port`. */
  host: string;
  /** Who signs in next. */
  account: Account | undefined;
  stop(): Promise<void>;
}

export async function startDirectory(tenantId: string, { key, cert }: CertificateFiles): Promise<Directory> {
  const endpoints = {
    wellKnownDocument: `/${tenantId}/v2.0/.well-known/openid-configuration`,
    authorize: `/${tenantId}/oauth2/v2.0/authorize`,
    token: `/${tenantId}/oauth2/v2.0/token`,
    jwks: `/${tenantId}/discovery/v2.0/keys`,
    userinfo: '/oidc/userinfo',
  };
  const server = new OAuth2Server(key, cert, { endpoints });
  await server.issuer.keys.generate('RS256');
  await server.start(0, 'localhost');
  const host = `localhost:${server.address().port}`;
  const issuerOf = (tid: string) => `https://${host}/${tid}/v2.0`;
  const directory: Directory = { issuer: issuerOf(tenantId), host, account: undefined, stop: () => server.stop() };
  server.issuer.url = directory.issuer;

  server.service.on(Events.BeforeWellKnownOpenIdConfiguration, ({ body }: { body: Record<string, unknown> }) => {
    Object.assign(body, {
      authorization_endpoint: `https://${host}${endpoints.authorize}`,
      token_endpoint: `https://${host}${endpoints.token}`,
      jwks_uri: `https://${host}${endpoints.jwks}`,
      userinfo_endpoint: `https://${host}${endpoints.userinfo}`,
      token_endpoint_auth_methods_supported: ['client_secret_post', 'private_key_jwt', 'client_secret_basic'],
      subject_types_supported: ['pairwise'],
    });
  });
  server.service.on(Events.BeforeTokenSigning, ({ payload }: { payload: Record<string, unknown> }) => {
    const { tid = tenantId, ...claims } = directory.account!;
    const common = { sub: `pairwise-${claims.oid}`, tid, iss: issuerOf(tid), ver: '2.0' };
    // The mock server doesn't decode the client id of Basic authentication.
    Object.assign(payload, { ...claims, ...common, aud: CLIENT_ID });
  });
  server.service.on(Events.BeforeUserinfo, (response: { body: unknown }) => {
    const { oid, email } = directory.account!;
    response.body = { sub: `pairwise-${oid}`, ...(email && { email }) };
  });
  return directory;
}

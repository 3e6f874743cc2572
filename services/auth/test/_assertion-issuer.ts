/** Issuers of identity assertions in this process, over TLS, for the tests of enterprise-managed authorization. */
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { CompactSign, exportJWK, exportSPKI, generateKeyPair, type CryptoKey, type JWK } from 'jose';
import { CERTIFICATE } from './_identity-provider.ts';

export interface AssertionIssuer {
  issuer: string;
  /** `host:port`. */
  host: string;
  /** Signs with the published key, or as `by` says. */
  sign(claims: object, by?: Signing): Promise<string>;
  /** The published key as text. */
  publicKey: string;
  /** Replaces the key, and publishes only the new one. */
  rotate(): Promise<void>;
  /** Replaces parts of the metadata. */
  metadata: object;
  /** Further documents that it serves, by path. */
  documents: Map<string, object>;
  /** The paths of all requests so far. */
  requestedPaths: string[];
  stop(): Promise<void>;
}

interface Signing {
  key?: CryptoKey | Uint8Array;
  header?: Record<string, unknown>;
}

export async function startAssertionIssuer(): Promise<AssertionIssuer> {
  let current: { kid: string; privateKey: CryptoKey; publicJwk: JWK };
  const issuer: Omit<AssertionIssuer, 'issuer' | 'host'> & Partial<AssertionIssuer> = {
    publicKey: '',
    metadata: {},
    documents: new Map(),
    requestedPaths: [],
    sign: (claims, { key = current.privateKey, header = {} } = {}) =>
      new CompactSign(new TextEncoder().encode(JSON.stringify(claims)))
        .setProtectedHeader({ alg: 'ES256', typ: 'oauth-id-jag+jwt', kid: current.kid, ...header })
        .sign(key),
    rotate: async () => {
      const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
      const kid = crypto.randomUUID();
      issuer.publicKey = await exportSPKI(publicKey);
      current = { kid, privateKey, publicJwk: { ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' } };
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  await issuer.rotate();
  const answerOf = (path: string): object | undefined => {
    const { issuer: url, metadata, documents } = issuer;
    if (path === '/.well-known/openid-configuration') return { issuer: url, jwks_uri: `${url}/keys`, ...metadata };
    return path === '/keys' ? { keys: [current.publicJwk] } : documents.get(path);
  };
  const server = createServer(CERTIFICATE, (request, response) => {
    issuer.requestedPaths.push(request.url!);
    const answer = answerOf(request.url!);
    response.writeHead(answer ? 200 : 404, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer ?? {}));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const host = `localhost:${(server.address() as AddressInfo).port}`;
  return Object.assign(issuer, { host, issuer: `https://${host}` });
}

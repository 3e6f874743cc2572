import { createServer } from 'node:https';
import { CERTIFICATE } from './_identity-provider.ts';

/** An identity provider run by an attacker. The test chooses its metadata, and it records the requests that it receives. */
export interface HostileProvider {
  issuer: string;
  /** The method, path and form of each request, except those for metadata. */
  received: { method: string; path: string; form: URLSearchParams }[];
  stop(): Promise<void>;
}

/** @param metadata replaces parts of its discovery document */
export async function startHostileProvider(port: number, metadata: Record<string, string> = {}): Promise<HostileProvider> {
  const issuer = `https://localhost:${port}`;
  const discovery = {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/jwks`,
    ...metadata,
  };
  const received: HostileProvider['received'] = [];
  const server = createServer(CERTIFICATE, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const isMetadata = request.url === '/.well-known/openid-configuration';
      const form = new URLSearchParams(Buffer.concat(chunks).toString());
      if (!isMetadata) received.push({ method: request.method!, path: request.url!, form });
      response.setHeader('content-type', 'application/json');
      response.statusCode = isMetadata ? 200 : 400;
      response.end(JSON.stringify(isMetadata ? discovery : { error: 'invalid_grant' }));
    });
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    issuer,
    received,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

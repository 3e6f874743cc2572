/** A firm's directory with enterprise-managed authorization: it issues id tokens, and exchanges them for identity assertions (ID-JAG, RFC 8693). */
import { OAuth2Server, Events, type RouteHandler } from 'oauth2-mock-server';
import type { CertificateFiles } from './certificate.ts';

export interface ManagedDirectory {
  issuer: string;
  /** `host:port`. */
  host: string;
  tokenEndpoint: string;
  /** The assistant's client id at the authorization server of the tools. The administrator of a directory enters it there. */
  clientId: string;
  /** The people of the firm: subject and e-mail. */
  people: Map<string, string>;
  /** The id token that the assistant got when this person signed in to it. */
  idTokenOf(subject: string): Promise<string>;
  stop(): Promise<void>;
}

/** The assistant's client id here. At the authorization server of the tools, it is another one. */
const ASSISTANT = 'assistant';
const EXCHANGE = {
  grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
  requested_token_type: 'urn:ietf:params:oauth:token-type:id-jag',
  subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
  client_id: ASSISTANT,
};

export async function startManagedDirectory({ key, cert }: CertificateFiles): Promise<ManagedDirectory> {
  const server = new OAuth2Server(key, cert);
  await server.issuer.keys.generate('ES256');
  await server.start(0, 'localhost');
  const host = `localhost:${server.address().port}`;
  const directory: ManagedDirectory = {
    issuer: `https://${host}`,
    host,
    tokenEndpoint: `https://${host}/exchange`,
    clientId: '',
    people: new Map(),
    idTokenOf: (sub) =>
      server.issuer.buildToken({
        scopesOrTransform: (_header, payload) => void Object.assign(payload, { sub, aud: ASSISTANT }),
      }),
    stop: () => server.stop(),
  };
  server.issuer.url = directory.issuer;
  server.service.on(Events.BeforeWellKnownOpenIdConfiguration, ({ body }: { body: Record<string, unknown> }) => {
    body['token_endpoint'] = directory.tokenEndpoint;
  });
  const exchange: RouteHandler = async (request, response) => {
    const body = request.body as Record<string, string>;
    const isExchange = Object.entries(EXCHANGE).every(([name, value]) => body[name] === value);
    // The trial never forges an id token of this directory.
    const { sub } = JSON.parse(Buffer.from(body['subject_token']!.split('.')[1]!, 'base64url').toString()) as { sub: string };
    const email = directory.people.get(sub);
    const send = (status: number, answer: object) =>
      void response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(answer));
    if (!isExchange || email === undefined) return send(400, { error: isExchange ? 'access_denied' : 'invalid_request' });
    const { audience: aud, resource, scope } = body;
    const claims = {
      sub,
      email,
      aud,
      resource,
      client_id: directory.clientId,
      jti: crypto.randomUUID(),
      ...(scope && { scope }),
    };
    const assertion = await server.issuer.buildToken({
      expiresIn: 300,
      scopesOrTransform: (header, payload) => {
        header['typ'] = 'oauth-id-jag+jwt';
        Object.assign(payload, claims);
      },
    });
    send(200, {
      access_token: assertion,
      issued_token_type: EXCHANGE.requested_token_type,
      token_type: 'N_A',
      expires_in: 300,
      ...(scope && { scope }),
    });
  };
  server.service.addRoute('POST', '/exchange', exchange);
  return directory;
}

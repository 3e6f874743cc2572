/** The OAuth provider that both generations of the SDK require of an assistant, with a listener for the redirect back to it. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { OAuthClientProvider, OAuthDiscoveryState } from '@modelcontextprotocol/client';

export class Assistant implements OAuthClientProvider {
  readonly redirectUrl: string;
  /** The URL that the assistant opens in its user's browser. */
  authorization: string | undefined;
  /** The parameters of the redirect back to the assistant. */
  answer: URLSearchParams | undefined;
  #client: ReturnType<OAuthClientProvider['clientInformation']>;
  #tokens: Awaited<ReturnType<OAuthClientProvider['tokens']>>;
  #discovered: OAuthDiscoveryState | undefined;
  #verifier = '';

  constructor(redirectUrl: string) {
    this.redirectUrl = redirectUrl;
  }

  static async start(): Promise<Assistant> {
    const server = createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url!, 'http://localhost');
      if (pathname === '/callback') assistant.answer = searchParams;
      response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html><title>Assistant</title>Welcome back');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    server.unref();
    const assistant = new Assistant(`http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`);
    return assistant;
  }

  get clientMetadata() {
    return { client_name: 'Example assistant', redirect_uris: [this.redirectUrl], token_endpoint_auth_method: 'none' };
  }
  state() {
    return 'a state of the assistant';
  }
  clientInformation() {
    return this.#client;
  }
  saveClientInformation(client: Awaited<ReturnType<OAuthClientProvider['clientInformation']>>) {
    this.#client = client;
  }
  tokens() {
    return this.#tokens;
  }
  saveTokens(tokens: Awaited<ReturnType<OAuthClientProvider['tokens']>>) {
    this.#tokens = tokens;
  }
  invalidateCredentials(which: string) {
    if (['all', 'tokens'].includes(which)) this.#tokens = undefined;
  }
  discoveryState() {
    return this.#discovered;
  }
  saveDiscoveryState(discovered: OAuthDiscoveryState) {
    this.#discovered = discovered;
  }
  redirectToAuthorization(url: URL) {
    this.authorization = url.href;
  }
  saveCodeVerifier(verifier: string) {
    this.#verifier = verifier;
  }
  codeVerifier() {
    return this.#verifier;
  }
}

/**
 * An MCP client's side of the OAuth sign-in, for the trials. Versions 1 and 2 of the MCP SDK call an `OAuthClientProvider` to store what they register and
 * receive. This one keeps it in memory, and listens on a local port for the redirect that ends the authorization.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { OAuthClientProvider, OAuthDiscoveryState } from '@modelcontextprotocol/client';

export class Assistant implements OAuthClientProvider {
  readonly redirectUrl: string;
  /** The authorization URL of the last sign-in that the SDK began. The caller opens it in the user's browser. */
  authorizationUrl: string | undefined;
  /** The query of the last redirect to `redirectUrl`: `code` and `state`, or `error`. */
  callbackParams: URLSearchParams | undefined;
  #client: ReturnType<OAuthClientProvider['clientInformation']>;
  #tokens: Awaited<ReturnType<OAuthClientProvider['tokens']>>;
  #discoveryState: OAuthDiscoveryState | undefined;
  #codeVerifier = '';

  constructor(redirectUrl: string) {
    this.redirectUrl = redirectUrl;
  }

  /** Starts the listener on a free port. It doesn't keep the process running. */
  static async start(): Promise<Assistant> {
    const server = createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url!, 'http://localhost');
      if (pathname === '/callback') assistant.callbackParams = searchParams;
      response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html><title>Assistant</title>Welcome back');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    server.unref();
    const assistant = new this(`http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`);
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
  /** Never forgets the registered client: a client that has to register again fails the trial. */
  invalidateCredentials(scope: string) {
    if (['all', 'tokens'].includes(scope)) this.#tokens = undefined;
  }
  discoveryState() {
    return this.#discoveryState;
  }
  saveDiscoveryState(state: OAuthDiscoveryState) {
    this.#discoveryState = state;
  }
  redirectToAuthorization(url: URL) {
    this.authorizationUrl = url.href;
  }
  saveCodeVerifier(verifier: string) {
    this.#codeVerifier = verifier;
  }
  codeVerifier() {
    return this.#codeVerifier;
  }
}

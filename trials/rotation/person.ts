/** A person who uses a browser and an assistant while secrets rotate. */
import { createHash, randomBytes } from 'node:crypto';
import { sendRequest, type HttpResponse } from '@crs/testing/send-request';
import { MCP_HEADERS, toolCall } from '@crs/testing/mcp';
import { Balancer, type Gateways } from '../faults/balancer.ts';

const CALLBACK = 'https://assistant.example/callback';
const TIMEOUT_MS = 16_000;
/** More pages than any sign-in has. Ends a redirect loop. */
const MAX_PAGES = 8;

export interface Account {
  organization: string;
  email: string;
  password: string;
}

/** A person with a browser and a connected assistant. Each request goes to a random replica. */
export class Person {
  readonly #balancer: Balancer;
  readonly #cookies = new Map<string, string>();
  #clientId = '';
  #refreshToken = '';

  constructor(gateways: Gateways) {
    this.#balancer = new Balancer(gateways);
  }

  /** Stops choosing gateways. The person sends no requests afterwards. */
  leave(): void {
    this.#balancer.stop();
  }

  /** Signs in, and allows an assistant that registers itself. */
  async connect(account: Account): Promise<void> {
    const registered = await this.#send('/register', {
      body: JSON.stringify({ client_name: 'Rotor', redirect_uris: [CALLBACK], token_endpoint_auth_method: 'none' }),
      headers: { 'content-type': 'application/json' },
    });
    this.#clientId = (JSON.parse(registered.body) as { client_id: string }).client_id;
    const verifier = randomBytes(32).toString('base64url');
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: this.#clientId,
      redirect_uri: CALLBACK,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
    });
    const callback = await this.#decide(`/authorize?${query.toString()}`, { ...account, decision: 'allow' });
    const code = callback.searchParams.get('code') ?? '';
    await this.#takeTokens({ grant_type: 'authorization_code', code, code_verifier: verifier, redirect_uri: CALLBACK });
  }

  /** Opens the page of connections, which requires sign-in. @returns what is wrong, if anything */
  async visit(): Promise<string | undefined> {
    const { status, body } = await this.#send('/connections');
    return status === 200 && body.includes('Rotor') ? undefined : `${status}: the person is signed out`;
  }

  /** Renews the assistant's tokens, and lists calls on two pages. @returns what is wrong, if anything */
  async work(): Promise<string | undefined> {
    const accessToken = await this.renew();
    const first = await this.#list(accessToken, {});
    return first.cursor === undefined ? first.wrong : (await this.#list(accessToken, { cursor: first.cursor })).wrong;
  }

  /** Renews the assistant's tokens. @returns the new access token. @throws Error with the response of `/token` if it refuses */
  renew(): Promise<string> {
    return this.#takeTokens({ grant_type: 'refresh_token', refresh_token: this.#refreshToken });
  }

  /** Lists calls after a cursor, or from the beginning. */
  async #list(accessToken: string, args: object): Promise<{ cursor?: string; wrong?: string }> {
    const { status, body } = await this.#send('/mcp', {
      body: JSON.stringify(toolCall('list_calls', { limit: 5, ...args })),
      headers: { ...MCP_HEADERS, authorization: `Bearer ${accessToken}` },
    });
    const result = status === 200 ? (JSON.parse(body) as ToolMessage).result : undefined;
    const cursor = result?.structuredContent?.next_cursor;
    return cursor === undefined ? { wrong: `${status}: ${body.slice(0, 300)}` } : { cursor };
  }

  async #takeTokens(form: Record<string, string>): Promise<string> {
    const { status, body } = await this.#post('/token', { client_id: this.#clientId, ...form });
    if (status !== 200) throw new Error(`/token responded ${status}: ${body}`);
    const tokens = JSON.parse(body) as { access_token: string; refresh_token: string };
    this.#refreshToken = tokens.refresh_token;
    return tokens.access_token;
  }

  /** Follows redirects, and submits the forms of pages, until the browser is redirected to the client. */
  async #decide(path: string, fields: Record<string, string>): Promise<URL> {
    let response = await this.#send(path);
    for (let pages = 0; pages < MAX_PAGES;) {
      const to = response.headers.location ?? /content="0; url=([^"]+)"/.exec(response.body)?.[1]?.replaceAll('&amp;', '&');
      if (to?.startsWith(CALLBACK)) return new URL(to);
      if (to !== undefined) {
        response = await this.#send(pathOf(to));
        continue;
      }
      pages++;
      const form = /<form[^>]*action="([^"]+)"[^]*?<\/form>/.exec(response.body);
      if (!form) break;
      const hidden = form[0].matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g);
      const filledIn = Object.entries(fields).filter(([name]) => form[0].includes(`name="${name}"`));
      response = await this.#post(
        pathOf(form[1]!),
        Object.fromEntries([...[...hidden].map(([, name, value]) => [name!, value!]), ...filledIn]),
      );
    }
    throw new Error(`not redirected to the client: ${response.status} ${response.body.slice(0, 500)}`);
  }

  #post(path: string, form: Record<string, string>): Promise<HttpResponse> {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    return this.#send(path, { body: new URLSearchParams(form).toString(), headers });
  }

  async #send(
    path: string,
    { body, headers = {} }: { body?: string; headers?: Record<string, string> } = {},
  ): Promise<HttpResponse> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    // Each request uses a new connection. The server may close a persistent one just when a request is sent; a browser would then send it again.
    const options = { agent: false, headers: { ...headers, ...(cookie && { cookie }) }, timeout: TIMEOUT_MS } as const;
    const response = await sendRequest(`http://${this.#balancer.order('tools')[0]!}${path}`, options, body);
    for (const line of response.headers['set-cookie'] ?? []) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!;
      this.#cookies.set(name!, value!);
    }
    return response;
  }
}

interface ToolMessage {
  result?: { structuredContent?: { next_cursor?: string } };
}

function pathOf(address: string): string {
  const url = new URL(address, 'http://here.example');
  return url.pathname + url.search;
}

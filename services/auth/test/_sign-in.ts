/** A minimal browser, and helpers that register clients, sign in, consent and redeem tokens with it. */
import { createHash, randomBytes } from 'node:crypto';
import { request } from 'node:http';
import { TOOLS_URL } from '@crs/testing/world';

/** A response with its whole body. */
export interface Answer {
  status: number;
  headers: Headers;
  text: string;
}

interface Options {
  method?: string;
  /** A list, if a field has several values. */
  form?: Record<string, string> | string[][];
  json?: object;
  headers?: Record<string, string>;
}

/**
 * A minimal browser: it keeps cookies and follows redirects within the issuer's origin. Requests go to one of
 * the given listeners in turn, as a load balancer would send them.
 */
export class Browser {
  readonly cookies = new Map<string, string>();
  /** Sent as `x-forwarded-for`. Limits count attempts by address, so each browser gets its own. The tool gateway ignores the header. */
  readonly address = `10.${randomBytes(3).join('.')}`;
  readonly #addresses: string[];
  #turn = 0;

  constructor(...addresses: string[]) {
    this.#addresses = addresses;
  }

  async send(path: string, { method, form, json, headers = {} }: Options = {}): Promise<Answer> {
    const [host, port] = this.#addresses[this.#turn++ % this.#addresses.length]!.split(':');
    const body = form ? new URLSearchParams(form).toString() : json ? JSON.stringify(json) : undefined;
    const type = form ? 'application/x-www-form-urlencoded' : 'application/json';
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await new Promise<Answer>((resolve, reject) => {
      const sent = request(
        {
          host,
          port,
          path,
          method: method ?? (body === undefined ? 'GET' : 'POST'),
          headers: {
            host: new URL(TOOLS_URL).host,
            ...(body !== undefined && { 'content-type': type, 'content-length': Buffer.byteLength(body) }),
            ...(cookie && { cookie }),
            'x-forwarded-for': this.address,
            ...headers,
          },
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('end', () => {
            const received = new Headers();
            for (const [name, values] of Object.entries(response.headersDistinct))
              for (const value of values ?? []) received.append(name, value);
            resolve({ status: response.statusCode!, headers: received, text: Buffer.concat(chunks).toString() });
          });
        },
      );
      sent.on('error', reject).end(body);
    });
    for (const line of answer.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!;
      if (value === '') this.cookies.delete(name!);
      else this.cookies.set(name!, value!);
    }
    return answer;
  }

  /** Follows redirects, and pages that only redirect. Stops at any other page, or at a URL outside the issuer's origin, which is `externalUrl`. */
  async follow(answer: Answer): Promise<{ page: Answer; externalUrl?: URL; path: string }> {
    let page = answer;
    let path = '';
    for (let hops = 0; hops < 10; hops++) {
      const refresh = /http-equiv="refresh" content="0; url=([^"]+)"/.exec(page.text)?.[1]?.replaceAll('&amp;', '&');
      const next = page.headers.get('location') ?? refresh;
      if (next === undefined) return { page, path };
      const url = new URL(next, TOOLS_URL);
      if (url.origin !== TOOLS_URL) return { page, externalUrl: url, path };
      path = url.pathname + url.search;
      page = await this.send(path);
    }
    throw new Error('too many redirects');
  }

  async open(path: string) {
    return this.follow(await this.send(path));
  }

  /** Sends the form of a page, with its hidden fields. */
  async submit(page: Answer, fields: Record<string, string>) {
    return this.follow(await this.send(actionOf(page), { form: { ...hiddenFields(page), ...fields } }));
  }
}

export function actionOf(page: Answer): string {
  return /<form[^>]*action="([^"]+)"/.exec(page.text)![1]!;
}

export function hiddenFields(page: Answer): Record<string, string> {
  const fields = page.text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g);
  return Object.fromEntries([...fields].map(([, name, value]) => [name!, value!]));
}

/** The fields of the sign-in form that a page shows. */
export function askedBy(page: Answer): (keyof Person)[] {
  return [...page.text.matchAll(/<input\s+id="(email|organization|password)"/g)].map(([, name]) => name as keyof Person);
}

export const CALLBACK = 'https://claude.ai/api/mcp/auth_callback';
export const RESOURCE = `${TOOLS_URL}/mcp`;

export function pkce() {
  const verifier = randomBytes(32).toString('base64url');
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
}

export async function register(browser: Browser, metadata: object = {}) {
  const body = {
    client_name: 'Claude',
    redirect_uris: [CALLBACK],
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    ...metadata,
  };
  const answer = await browser.send('/register', { json: body });
  return { status: answer.status, body: JSON.parse(answer.text) };
}

export function authorizePath(clientId: string, challenge: string, more: Record<string, string | undefined> = {}): string {
  const parameters = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: CALLBACK,
    code_challenge: challenge,
    code_challenge_method: 'S256',
    state: 'a-state',
    resource: RESOURCE,
    scope: 'calls:read projects:read entities:read',
    ...more,
  };
  const present = Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return `/authorize?${new URLSearchParams(present).toString()}`;
}

export interface Person {
  organization: string;
  email: string;
  password: string;
}

/** Signs in as a person does, page by page, until the password is sent. */
export async function signIn(browser: Browser, page: Answer, person: Person) {
  let step: Awaited<ReturnType<Browser['submit']>> = { page, path: '' };
  for (let isDone = false; !isDone;) {
    const fields = askedBy(step.page);
    if (fields.length === 0) return step;
    step = await browser.submit(step.page, Object.fromEntries(fields.map((name) => [name, person[name]])));
    isDone = fields.includes('password');
  }
  return step;
}

/** Signs in and consents. @returns the URL that the browser is redirected to, which has the code */
export async function allow(browser: Browser, path: string, person: Person): Promise<URL> {
  const start = await browser.open(path);
  const consent = await signIn(browser, start.page, person);
  const end = await browser.submit(consent.page, { decision: 'allow' });
  if (!end.externalUrl) throw new Error(`not called back: ${end.page.status} ${end.page.text}`);
  return end.externalUrl;
}

export interface Tokens {
  access_token: string;
  refresh_token: string;
  expires_in: number;
  scope: string;
  token_type: string;
}

export async function token(browser: Browser, form: Record<string, string>) {
  const answer = await browser.send('/token', { form });
  return { status: answer.status, headers: answer.headers, body: JSON.parse(answer.text) };
}

export function redeem(browser: Browser, clientId: string, code: string, verifier: string, more: Record<string, string> = {}) {
  const form = { grant_type: 'authorization_code', client_id: clientId, code, code_verifier: verifier, redirect_uri: CALLBACK };
  return token(browser, { ...form, resource: RESOURCE, ...more });
}

export function refresh(browser: Browser, clientId: string, refreshToken: string, more: Record<string, string> = {}) {
  return token(browser, { grant_type: 'refresh_token', client_id: clientId, refresh_token: refreshToken, ...more });
}

/** Connects an assistant, from registration to tokens. */
export async function connectAssistant(browser: Browser, person: Person, more: Record<string, string | undefined> = {}) {
  const client = await register(browser);
  const clientId: string = client.body.client_id;
  const { verifier, challenge } = pkce();
  const callback = await allow(browser, authorizePath(clientId, challenge, more), person);
  const code = callback.searchParams.get('code')!;
  const tokens = await redeem(browser, clientId, code, verifier);
  return { clientId, code, verifier, callback, tokens: tokens.body as Tokens };
}

/** Signs in on the page of connections. */
export async function openConnections(browser: Browser, person: Person): Promise<Answer> {
  const start = await browser.open('/connections');
  return (await signIn(browser, start.page, person)).page;
}

/** The rows of the page of connections: the words of each, and the id that its button sends. */
export function connectionsOn({ text }: Answer): { words: string; id: string }[] {
  return [...text.matchAll(/<li>(.*?)<\/li>/gs)].map(([, item]) => ({
    words: item!
      .replaceAll(/<[^>]*>/g, ' ')
      .replaceAll(/\s+/g, ' ')
      .trim(),
    id: /name="id" value="([^"]+)"/.exec(item!)![1]!,
  }));
}

/** Disconnects a row of the page of connections, as its button does. */
export async function disconnect(browser: Browser, page: Answer, id: string): Promise<Answer> {
  const { csrf = '' } = hiddenFields(page);
  return browser.send('/connections/revoke', { form: { csrf, id } });
}

export const SCOPES = ['calls:read', 'projects:read', 'entities:read'];

/** Sends the form for a token of one's own, on the page of connections. A browser sends a field with several values several times. */
export async function requestOwnToken(
  b: Browser,
  page: Answer,
  fields: { label?: string; days?: string; scopes?: string[] } = {},
) {
  const { label = 'nightly export', days = '30', scopes = SCOPES } = fields;
  const { csrf = '' } = hiddenFields(page);
  const form = [['csrf', csrf], ['label', label], ['days', days], ...scopes.map((scope) => ['scope', scope])];
  return b.send('/connections/tokens', { form });
}

export const tokenOn = ({ text }: Answer) => /<textarea[^>]*>([^<]+)<\/textarea>/.exec(text)?.[1];

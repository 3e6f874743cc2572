import { lookup, Resolver } from 'node:dns/promises';
import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';

/** The addresses of a name. */
export type Resolve = (host: string, signal: AbortSignal) => Promise<string[]>;

export interface GuardedFetchOptions {
  method?: 'GET' | 'POST';
  headers?: Record<string, string>;
  body?: string;
  /** `host:port` entries that may be at any port and any address. For tests: their certificates are checked as all others are. */
  allowHosts?: readonly string[];
  /** Certificate authorities (PEM) instead of the usual ones; a whole process trusts further ones by `NODE_EXTRA_CA_CERTS`. */
  ca?: string;
  /** By default DNS, past `/etc/hosts` and search domains. */
  resolve?: Resolve;
}

export interface Fetched {
  status: number;
  headers: Headers;
  body: Buffer;
}

/** A fetch that was refused or failed. The message tells outsiders nothing; `reason`, also in the log as the cause, is the operator's. */
export class GuardedFetchError extends Error {
  override readonly name = 'GuardedFetchError';
  readonly reason: string;

  constructor(reason: string, cause?: unknown) {
    super('The address could not be fetched.', { cause: new Error(reason, { cause }) });
    this.reason = reason;
  }
}

const TIMEOUT_MS = 5_000;
const MAX_BODY_BYTES = 16 * 1024;

/** The part of IPv6 that is handed out. Elsewhere IPv4 addresses hide (`::10.0.0.1`), and whatever is yet to be given a meaning. */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');

/** Of its own: no proxy of the environment, no connection or TLS session shared with anybody. */
const agent = new Agent({ keepAlive: false, maxCachedSessions: 0 });

/**
 * Fetches what an outside party names, such as a client's metadata document: over https at port 443 from a public address, without
 * following redirects, 16 KiB and 5 s at most. The name is resolved once, and only an address that was checked is connected to, so
 * that no later answer of its DNS counts.
 * @throws GuardedFetchError
 */
export async function guardedFetch(url: string, options: GuardedFetchOptions = {}): Promise<Fetched> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const target = parseTarget(url, options.allowHosts ?? []);
    return await send(target, await addressesOf(target, options.resolve, signal), options, signal);
  } catch (error) {
    if (error instanceof GuardedFetchError && !signal.aborted) throw error;
    throw new GuardedFetchError(signal.aborted ? `took longer than ${TIMEOUT_MS} ms` : 'the exchange failed', error);
  }
}

interface Target {
  /** A name, or an address in its usual spelling and without brackets: `URL` has read all others. */
  host: string;
  port: number;
  path: string;
  isAllowed: boolean;
}

function parseTarget(text: string, allowHosts: readonly string[]): Target {
  const url = URL.parse(text);
  if (!url) throw new GuardedFetchError('not a URL');
  if (url.protocol !== 'https:') throw new GuardedFetchError('the URL is not https');
  if (url.username !== '' || url.password !== '') throw new GuardedFetchError('the URL has credentials');
  if (text.includes('#')) throw new GuardedFetchError('the URL has a fragment');
  if (url.hostname.endsWith('.')) throw new GuardedFetchError('the host ends in a dot');
  const port = url.port === '' ? 443 : Number(url.port);
  const isAllowed = allowHosts.some((allowed) => allowed.toLowerCase() === `${url.hostname}:${port}`);
  if (port !== 443 && !isAllowed) throw new GuardedFetchError(`port ${port} is not 443`);
  return { host: url.hostname.replace(/^\[|\]$/g, ''), port, path: url.pathname + url.search, isAllowed };
}

async function addressesOf({ host, isAllowed }: Target, resolve: Resolve | undefined, signal: AbortSignal): Promise<string[]> {
  const ask = resolve ?? (isAllowed ? resolveBySystem : resolveByDns);
  const addresses = isIP(host) === 0 ? await ask(host, signal) : [host];
  if (addresses.length === 0) throw new GuardedFetchError(`${host} has no address`);
  const inside = isAllowed ? undefined : addresses.find((address) => !isPublic(address));
  if (inside !== undefined) throw new GuardedFetchError(`${host} is at ${inside}, which is not public (${rangeOf(inside)})`);
  return addresses;
}

/** Not `dns.lookup`: a slow server of a stranger's would hold a thread of the pool that password hashes need, too. */
async function resolveByDns(host: string, signal: AbortSignal): Promise<string[]> {
  const resolver = new Resolver();
  signal.addEventListener('abort', () => resolver.cancel(), { once: true });
  const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
  return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
}

async function resolveBySystem(host: string): Promise<string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

function rangeOf(address: string): string {
  return ipaddr.parse(address).range();
}

function isPublic(address: string): boolean {
  const parsed = ipaddr.parse(address);
  return parsed.range() === 'unicast' && (parsed.kind() === 'ipv4' || parsed.match(GLOBAL_IPV6));
}

async function send(
  { host, port, path }: Target,
  addresses: string[],
  { method = 'GET', headers = {}, body, ca }: GuardedFetchOptions,
  signal: AbortSignal,
): Promise<Fetched> {
  const checked = addresses.map((address) => ({ address, family: isIP(address) }));
  const pinned: LookupFunction = (_host, { all }, found) =>
    all ? found(null, checked) : found(null, checked[0]!.address, checked[0]!.family);
  const outgoing = request({
    host,
    port,
    path,
    method,
    // Nothing is decompressed here, so nothing can grow.
    headers: { accept: 'application/json', ...headers, 'accept-encoding': 'identity' },
    lookup: pinned,
    agent,
    ca,
    // Whatever the environment says.
    rejectUnauthorized: true,
    signal,
  });
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.on('response', resolve).on('error', reject);
      // After 101 there is neither.
      outgoing.on('close', () => reject(new Error('closed without an answer')));
      outgoing.end(body);
    });
    return await receive(response);
  } finally {
    outgoing.destroy();
  }
}

async function receive(response: IncomingMessage): Promise<Fetched> {
  const { statusCode: status = 0, headersDistinct } = response;
  if (status >= 300 && status < 400) throw new GuardedFetchError(`the answer is a redirect (${status})`);
  const headers = new Headers();
  for (const [name, values] of Object.entries(headersDistinct)) for (const value of values ?? []) headers.append(name, value);
  const encoding = headers.get('content-encoding') ?? 'identity';
  if (encoding.toLowerCase() !== 'identity') throw new GuardedFetchError('the answer is compressed');
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) throw new GuardedFetchError(`the answer is larger than ${MAX_BODY_BYTES} bytes`);
    chunks.push(chunk);
  }
  return { status, headers, body: Buffer.concat(chunks) };
}

import { lookup, Resolver } from 'node:dns/promises';
import { request as requestByHttp, type IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';

export interface GuardedFetchOptions {
  method?: 'GET' | 'POST';
  headers?: Record<string, string>;
  body?: string;
  /** `host:port` entries that may be at any port and any address. Their certificates are still checked. */
  allowHosts?: readonly string[];
  /** Whether URLs of allowed hosts may be `http` if they are on this machine. */
  httpOnLoopback?: boolean;
  /** By default 2 s. */
  timeoutMs?: number;
  /** Whether to return once the status is known, whatever it is, without the body. */
  statusOnly?: boolean;
  /** Proxy for all other hosts. It resolves names itself, so it must refuse internal addresses, too. */
  proxyUrl?: string | undefined;
  /** Certificate authorities (PEM) that replace the usual ones. `CRS_TRUSTED_CERTIFICATES` adds authorities for the whole process. */
  ca?: string;
  /** By default DNS, without `/etc/hosts` and search domains. */
  resolve?: (host: string, signal: AbortSignal) => Promise<string[]>;
}

/**
 * A fetch was refused or failed. The message is safe for unauthenticated clients. `reason` is for operators, and doesn't reveal which
 * addresses internal names resolve to. The causes, for the log, do.
 */
export class GuardedFetchError extends Error {
  override readonly name = 'GuardedFetchError';
  readonly reason: string;

  constructor(reason: string, cause?: unknown) {
    super('The address could not be fetched.', { cause: new Error(reason, { cause }) });
    this.reason = reason;
  }
}

/** Bounds a whole fetch. A user of the sign-in waits for it, and it occupies a place of a small pool. */
const TIMEOUT_MS = 2_000;
const MAX_BODY_BYTES = 16 * 1024;

/** The public part of IPv6. Other parts embed IPv4 addresses (`::10.0.0.1`) or are unassigned. */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');

/**
 * Public-looking addresses of services of the cloud that hosts the caller: Azure's wire server, and IBM Cloud's private service endpoints.
 * Other clouds use ranges that are never public, such as 169.254.0.0/16, 100.64.0.0/10 and fc00::/7.
 */
const CLOUD_SERVICES = ['168.63.129.16/32', '161.26.0.0/16', '166.8.0.0/14'].map((range) => ipaddr.IPv4.parseCIDR(range));

/** Agents of this file ignore the environment's proxy, and share no connection or TLS session. */
const UNSHARED = { keepAlive: false, maxCachedSessions: 0 };
const agent = new Agent(UNSHARED);

/**
 * Fetches an untrusted URL, such as that of a client's metadata document. The URL must be https at port 443 of a public address. Redirects aren't
 * followed, and bodies above 16 KiB are refused. The name is resolved once, and the connection goes to an address that was checked, so that
 * a later DNS response has no effect.
 * @throws GuardedFetchError
 */
export async function guardedFetch(url: string, options: GuardedFetchOptions = {}): Promise<Response> {
  const { timeoutMs = TIMEOUT_MS } = options;
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const target = parseTarget(url, options);
    return await send(target, await addressesOf(target, options, signal), options, signal);
  } catch (error) {
    if (error instanceof GuardedFetchError && !signal.aborted) throw error;
    if (signal.aborted) throw new GuardedFetchError(`took longer than ${timeoutMs} ms`, error);
    // Never the message of a network or TLS error, which may contain an address.
    const { code } = error as NodeJS.ErrnoException;
    throw new GuardedFetchError(`the exchange failed${code ? ` (${code})` : ''}`, error);
  }
}

/** @throws GuardedFetchError if `guardedFetch` would refuse the URL whatever its name resolves to */
export function requireFetchable(url: string, options: GuardedFetchOptions): void {
  const { host, isAllowed } = parseTarget(url, options);
  if (isIP(host) !== 0 && !isAllowed && !isPublic(host)) throw new GuardedFetchError(`${host} is not a public address`);
}

type Target = ReturnType<typeof parseTarget>;

function parseTarget(text: string, { allowHosts = [], proxyUrl, httpOnLoopback = false }: GuardedFetchOptions) {
  const url = URL.parse(text);
  if (!url) throw new GuardedFetchError('not a URL');
  const isHttp = url.protocol === 'http:' && httpOnLoopback;
  if (url.protocol !== 'https:' && !isHttp) throw new GuardedFetchError('the URL is not https');
  if (url.username !== '' || url.password !== '') throw new GuardedFetchError('the URL has credentials');
  if (text.includes('#')) throw new GuardedFetchError('the URL has a fragment');
  if (url.hostname.endsWith('.')) throw new GuardedFetchError('the host ends in a dot');
  const port = Number(url.port || (isHttp ? 80 : 443));
  const isAllowed = allowHosts.some((allowed) => allowed.toLowerCase() === `${url.hostname}:${port}`);
  // `URL` has normalized IP addresses, such as 0x7f.1.
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (isHttp && !(isAllowed && isLoopback(host))) throw new GuardedFetchError('the URL is not https');
  if (port !== 443 && !isAllowed) throw new GuardedFetchError(`port ${port} is not 443`);
  return { host, port, path: url.pathname + url.search, isHttp, isAllowed, proxyUrl: isAllowed ? undefined : proxyUrl };
}

async function addressesOf(
  { host, isAllowed, proxyUrl }: Target,
  { resolve = isAllowed ? resolveBySystem : resolveByDns }: GuardedFetchOptions,
  signal: AbortSignal,
): Promise<string[]> {
  const addresses = isIP(host) === 0 ? await resolve(host, signal) : [host];
  const internal = isAllowed ? undefined : addresses.find((address) => !isPublic(address));
  let problem = internal && `it is at ${internal} (${ipaddr.parse(internal).range()})`;
  // Behind a proxy, DNS may know only internal names.
  if (addresses.length === 0 && proxyUrl === undefined) problem = 'it has no address';
  // One reason for internal and unknown names, so that it doesn't reveal which internal names exist.
  if (problem !== undefined) throw new GuardedFetchError(`${host} has no public address`, new Error(problem));
  return addresses;
}

/** Avoids `dns.lookup`, because an untrusted slow DNS server would block a thread of the pool that also hashes passwords. */
async function resolveByDns(host: string, signal: AbortSignal): Promise<string[]> {
  const resolver = new Resolver();
  signal.addEventListener('abort', () => resolver.cancel(), { once: true });
  const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
  return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
}

async function resolveBySystem(host: string): Promise<string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

function isPublic(address: string): boolean {
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== 'unicast') return false;
  if (parsed instanceof ipaddr.IPv6) return parsed.match(GLOBAL_IPV6);
  return !CLOUD_SERVICES.some((range) => parsed.match(range));
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || (isIP(host) !== 0 && ipaddr.parse(host).range() === 'loopback');
}

async function send(
  { host, port, path, isHttp, proxyUrl }: Target,
  addresses: string[],
  { method = 'GET', headers = {}, body, ca, statusOnly = false }: GuardedFetchOptions,
  signal: AbortSignal,
): Promise<Response> {
  const checked = addresses.map((address) => ({ address, family: isIP(address) }));
  const pinned: LookupFunction = (_host, { all }, callback) =>
    all ? callback(null, checked) : callback(null, checked[0]!.address, checked[0]!.family);
  // A small compressed body could expand without limit.
  const allHeaders = { accept: 'application/json', ...headers, 'accept-encoding': 'identity' };
  const shared = { host, port, path, method, headers: allHeaders, signal };
  const outgoing = isHttp
    ? requestByHttp({ ...shared, agent: false })
    : request({
        ...shared,
        ...(proxyUrl === undefined
          ? { lookup: pinned, agent }
          : { agent: new Agent({ ...UNSHARED, proxyEnv: { HTTPS_PROXY: proxyUrl } }) }),
        ca,
        // Overrides `NODE_TLS_REJECT_UNAUTHORIZED`.
        rejectUnauthorized: true,
      });
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.on('response', resolve).on('error', reject);
      // A 101 response emits neither `response` nor `error`.
      outgoing.on('close', () => reject(new Error('closed without an answer')));
      outgoing.end(body);
    });
    return statusOnly ? new Response(null, { status: response.statusCode ?? 0 }) : await receive(response);
  } finally {
    outgoing.destroy();
  }
}

async function receive(response: IncomingMessage): Promise<Response> {
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
  return new Response(Buffer.concat(chunks), { status, headers });
}

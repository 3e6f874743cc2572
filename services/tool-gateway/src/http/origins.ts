import type { IncomingMessage } from 'node:http';
import { Refusal } from '@crs/kit/http/refusal';

/** The origins whose pages may call the tools, and the names of this server. */
export interface Origins {
  /** The tools' public origin. */
  publicUrl: string;
  /** Host and port of `publicUrl`. */
  host: string;
  /** Further origins whose pages may call. */
  allowed: string[];
  /** Whether loopback names and origins of any port are allowed, as under `npm start`. */
  loopback: boolean;
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Returns the refusal of a request whose `Host` isn't this server's or whose page has a foreign origin; undefined if it is allowed. */
export function foreignRefusal(request: IncomingMessage, origins: Origins): Refusal | undefined {
  if (!namesUs(request, origins)) return foreignHost;
  return isAllowedOrigin(request.headers.origin, origins) ? undefined : foreignOrigin;
}

const foreignOrigin = new Refusal(403, 'unauthorized', 'Pages of this origin may not call the tools.');
const foreignHost = new Refusal(403, 'unauthorized', 'The Host header does not name this server.');

/**
 * Protects against DNS rebinding, by which a foreign page makes a browser send requests to this server under the page's own host name.
 * @throws Refusal 403 if the `Host` isn't this server's
 */
export function checkHost(request: IncomingMessage, origins: Origins): void {
  if (!namesUs(request, origins)) throw foreignHost;
}

function namesUs(request: IncomingMessage, { host: ours, loopback }: Origins): boolean {
  const { host = '' } = request.headers;
  const isOurs = host.toLowerCase() === ours || (loopback && LOOPBACK.has(nameOf(`http://${host}`)));
  // If the header is repeated, Node silently uses the first one.
  return isOurs && request.headersDistinct['host']?.length === 1;
}

/** Whether pages of that origin may call the tools. Programs send no origin. */
function isAllowedOrigin(origin: string | undefined, { publicUrl, allowed, loopback }: Origins): boolean {
  if (origin === undefined) return true;
  return origin === publicUrl || allowed.includes(origin) || (loopback && LOOPBACK.has(nameOf(origin)));
}

function nameOf(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname : '';
}

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

/**
 * Protects against DNS rebinding, by which a foreign page makes a browser reach this server under the page's own name.
 * @throws Refusal 403 where the `Host` doesn't name this server
 */
export function checkHost(request: IncomingMessage, origins: Origins): void {
  if (!namesUs(request, origins)) throw new Refusal(403, 'unauthorized', 'The Host header does not name this server.');
}

/** Checks the `Host`, and the origin of the page that sends the request. @throws Refusal 403 */
export function checkOrigin(request: IncomingMessage, origins: Origins): void {
  checkHost(request, origins);
  if (!isAllowedOrigin(request.headers.origin, origins))
    throw new Refusal(403, 'unauthorized', 'Pages of this origin may not call the tools.');
}

/** Whether {@link checkOrigin} refuses a request. */
export function isForeign(request: IncomingMessage, origins: Origins): boolean {
  return !namesUs(request, origins) || !isAllowedOrigin(request.headers.origin, origins);
}

/** Whether the `Host` of a request names this server. */
export function namesUs(request: IncomingMessage, { host: ours, loopback }: Origins): boolean {
  const { host = '' } = request.headers;
  const isOurs = host.toLowerCase() === ours || (loopback && LOOPBACK.has(nameOf(`http://${host}`)));
  // Node reads the first of several without a word.
  return isOurs && request.headersDistinct['host']?.length === 1;
}

/** Whether a page of that origin may call the tools. Programs send no origin. */
export function isAllowedOrigin(origin: string | undefined, { publicUrl, allowed, loopback }: Origins): boolean {
  if (origin === undefined) return true;
  return origin === publicUrl || allowed.includes(origin) || (loopback && LOOPBACK.has(nameOf(origin)));
}

function nameOf(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname : '';
}

import type { IncomingMessage } from 'node:http';
import { Refusal } from '@crs/kit/http/refusal';

/** Who may talk to us from a browser, and under which name. */
export interface Origins {
  /** The tools' public origin. */
  publicUrl: string;
  /** Further origins whose pages may call. */
  allowed: string[];
  /** Loopback names and origins of any port are fine, as under `npm start`. */
  loopback: boolean;
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * A page elsewhere can't make a browser reach us under a name of its own (DNS rebinding).
 * @throws Refusal 403 where the `Host` doesn't name us
 */
export function checkHost({ headersDistinct }: IncomingMessage, { publicUrl, loopback }: Origins): void {
  const [host = '', ...more] = headersDistinct.host ?? [];
  const isOurs = host.toLowerCase() === new URL(publicUrl).host || (loopback && LOOPBACK.has(nameOf(`http://${host}`)));
  if (!isOurs || more.length > 0) throw new Refusal(403, 'unauthorized', 'The Host header does not name this server.');
}

/** Whether a page of that origin may call. Programs send none. */
export function isAllowedOrigin(origin: string | undefined, { publicUrl, allowed, loopback }: Origins): boolean {
  if (origin === undefined) return true;
  return origin === publicUrl || allowed.includes(origin) || (loopback && LOOPBACK.has(nameOf(origin)));
}

function nameOf(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname : '';
}

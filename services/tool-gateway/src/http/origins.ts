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

/** Whether the `Host` names us: a page elsewhere can't make a browser reach us under a name of its own (DNS rebinding). */
export function isOurHost(host: string | undefined, { publicUrl, loopback }: Origins): boolean {
  if (host === undefined) return false;
  return host.toLowerCase() === new URL(publicUrl).host || (loopback && LOOPBACK.has(nameOf(`http://${host}`)));
}

/** Whether a page of that origin may call. Programs send none. */
export function isAllowedOrigin(origin: string | undefined, { publicUrl, allowed, loopback }: Origins): boolean {
  if (origin === undefined) return true;
  return origin === publicUrl || allowed.includes(origin) || (loopback && LOOPBACK.has(nameOf(origin)));
}

function nameOf(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname : '';
}

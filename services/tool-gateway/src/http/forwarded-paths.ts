/** A path that is forwarded to auth. No other paths are. */
export interface ForwardedPath {
  /** The path's template, for logs and metrics. */
  route: string;
  methods: string[];
  /** The path at auth. */
  path: string;
  /** Whether the response is a page for people. Otherwise it is for programs, which may run in pages of any origin. */
  isPage: boolean;
}

const READ = ['GET', 'HEAD'];
const FOR_PROGRAMS = new Map([
  ['/.well-known/oauth-authorization-server', READ],
  ['/.well-known/openid-configuration', READ],
  // Some clients append `/mcp` to the metadata paths. They get the same document.
  ['/.well-known/oauth-authorization-server/mcp', READ],
  ['/.well-known/openid-configuration/mcp', READ],
  ['/jwks', READ],
  ['/token', ['POST']],
  ['/register', ['POST']],
  ['/revoke', ['POST']],
]);

/** The patterns of ids exclude anything that another URL parser could read as `..` or as an escape. */
const PAGES = [
  { route: '/', pattern: /^\/$/ },
  { route: '/authorize', pattern: /^\/authorize$/ },
  { route: '/authorize/:id', pattern: /^\/authorize\/[\w-][\w.-]*$/ },
  // The same pattern as `ORGANIZATION_ID`.
  { route: '/sign-in/callback/:organization', pattern: /^\/sign-in\/callback\/[a-z0-9][a-z0-9-]{0,39}$/ },
  { route: '/sign-in/:id', pattern: /^\/sign-in\/[\w-][\w.-]*$/ },
  { route: '/connections', pattern: /^\/connections$/ },
  { route: '/connections/:id', pattern: /^\/connections\/[\w-][\w.-]*$/ },
];

/** Returns the forwarded path; undefined if it isn't forwarded. @param path undecoded and without the query */
export function forwardedPath(path: string): ForwardedPath | undefined {
  const methods = FOR_PROGRAMS.get(path);
  if (methods) return { route: path, methods, path: path.replace(/\/mcp$/, ''), isPage: false };
  const page = PAGES.find(({ pattern }) => pattern.test(path));
  return page && { route: page.route, methods: ['GET', 'HEAD', 'POST'], path, isPage: true };
}

/** Splits a request target into its path and its query, which begins with `?`. */
export function splitTarget(url: string): [path: string, query: string] {
  const at = url.indexOf('?');
  return at === -1 ? [url, ''] : [url.slice(0, at), url.slice(at)];
}

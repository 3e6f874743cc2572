/** A path that is passed on to auth. No other paths are. */
export interface PassedPath {
  /** The path's template, for logs and metrics. */
  route: string;
  methods: string[];
  /** The path as auth knows it. */
  path: string;
  /** Whether people read the answer as a page. Otherwise programs ask, also from pages of any origin. */
  isPage: boolean;
}

const READ = ['GET', 'HEAD'];
const FOR_PROGRAMS = new Map([
  ['/.well-known/oauth-authorization-server', READ],
  ['/.well-known/openid-configuration', READ],
  // Some clients ask for the metadata at a path of `/mcp`; it is the same document.
  ['/.well-known/oauth-authorization-server/mcp', READ],
  ['/.well-known/openid-configuration/mcp', READ],
  ['/jwks', READ],
  ['/token', ['POST']],
  ['/register', ['POST']],
  ['/revoke', ['POST']],
]);

/** An id is an identifier or a file name. It is nothing that another parser could read as `..` or an escape. */
const PAGES = [
  { route: '/', pattern: /^\/$/ },
  { route: '/authorize', pattern: /^\/authorize$/ },
  { route: '/authorize/:id', pattern: /^\/authorize\/[\w-][\w.-]*$/ },
  // Of the form of an organization's id: `ORGANIZATION_ID`.
  { route: '/sign-in/callback/:organization', pattern: /^\/sign-in\/callback\/[a-z0-9][a-z0-9-]{0,39}$/ },
  { route: '/sign-in/:id', pattern: /^\/sign-in\/[\w-][\w.-]*$/ },
  { route: '/connections', pattern: /^\/connections$/ },
  { route: '/connections/:id', pattern: /^\/connections\/[\w-][\w.-]*$/ },
];

/** @param path without the query, as it was sent */
export function passedPath(path: string): PassedPath | undefined {
  const methods = FOR_PROGRAMS.get(path);
  if (methods) return { route: path, methods, path: path.replace(/\/mcp$/, ''), isPage: false };
  const page = PAGES.find(({ pattern }) => pattern.test(path));
  return page && { route: page.route, methods: ['GET', 'HEAD', 'POST'], path, isPage: true };
}

/** A request target's path, and its query with the question mark. */
export function splitTarget(url: string): [path: string, query: string] {
  const at = url.indexOf('?');
  return at === -1 ? [url, ''] : [url.slice(0, at), url.slice(at)];
}

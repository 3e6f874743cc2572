/** Generates requests to every route of the OpenAPI document, valid ones and others. */
import fc from 'fast-check';
import type { Document, OperationObject } from '@crs/testing/openapi';
import { newProjects } from './bodies.ts';
import { credentials, harmless, headerText } from './headers.ts';
import type { Page } from './learn.ts';
import { bad, bounded, good, headersOf, mostly, open, outcomes, type Credential, type Fuzzed, type Part } from './request.ts';
import { paths, queries } from './rest-parameters.ts';
import type { FuzzSystem } from './system.ts';

interface Route {
  template: string;
  operations: Record<string, OperationObject>;
}

const WRITE_SURFACE = new Set(['/billing-offices', '/projects', '/projects/{project_id}']);

/** Valid and invalid requests to all routes and to paths that don't exist. */
export function restRequests(system: FuzzSystem, document: Document, pages: Page[]): fc.Arbitrary<Fuzzed> {
  const routes = Object.entries(document.paths).map(([template, operations]) => ({ template, operations }));
  const weights: Record<string, number> = { '/calls': 8, '/calls/{call_id}': 8, '/changes': 6, '/projects': 6 };
  return fc
    .oneof(
      ...routes.map((route) => ({ arbitrary: toRoute(system, route), weight: weights[route.template] ?? 2 })),
      { arbitrary: conditional(system, pages), weight: 2 },
      { arbitrary: nowhere(system), weight: 1 },
    )
    .map(bounded);
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'M-SEARCH', 'QUERY', 'PURGE'];

function methods({ operations }: Route): fc.Arbitrary<Part<string>> {
  const allowed = [...('get' in operations ? ['GET', 'HEAD'] : []), ...('post' in operations ? ['POST'] : [])];
  return mostly(
    12,
    fc.constantFrom(...allowed).map(good),
    fc.constantFrom(...METHODS.filter((method) => !allowed.includes(method))).map((method) => bad(method, '405')),
  );
}

const accepts = mostly<Part<string | undefined>>(
  12,
  fc
    .constantFrom(undefined, '*/*', 'application/json', 'application/*;q=0.1', 'text/html, */*;q=0.1', 'application/json; charset=utf-8', 'APPLICATION/JSON', 'application/json;q=1.000')
    .map(good),
  fc.constantFrom('text/html', 'application/xml, text/*', 'application/json;q=0', '*/*;q=0', 'application/json2').map((type) => bad(type, '406')),
  mostly(2, headerText(0, 6_000), fc.constantFrom('', ',', ';', 'application/json;q=nonsense', '*')).map((type) => open(type, '406')),
); // prettier-ignore

function toRoute(system: FuzzSystem, route: Route): fc.Arbitrary<Fuzzed> {
  const { template, operations } = route;
  const operation = Object.values(operations)[0]!;
  const needsKey = operation.security === undefined;
  return fc
    .record({
      credential: credentials(system.keys, system.addressLimit),
      method: methods(route),
      path: paths(template),
      query: queries(template, operation.parameters),
      accept: accepts,
      more: harmless,
      body: 'post' in operations ? newProjects : mostly(12, fc.constant(undefined), fc.constantFrom('{}', 'x', '')),
    })
    .map(({ credential, method, path, query, accept, more, body }): Fuzzed => {
      const isWrite = method.value === 'POST' && 'post' in operations;
      const target = `/v1${path.value}${query.value === '' ? '' : `?${query.value}`}`;
      const mayNot = WRITE_SURFACE.has(template) ? surface(credential, isWrite) : good(null);
      const request = typeof body === 'object' && isWrite ? body : undefined;
      const headers = headersOf([
        ['Host', system.api],
        ['Authorization', credential.header],
        ['Accept', accept.value],
        ...(request?.headers ?? []),
        ...more,
      ]);
      const parts = [
        needsKey && !credential.isUsable ? bad(null, '401') : good(null),
        method,
        accept,
        mayNot,
        ...(request ? request.parts : []),
        query,
        ...(request ? [request.key] : []),
        path,
      ];
      const sent = request ? request.body : typeof body === 'object' ? undefined : body;
      const statuses = outcomes(parts, request ? request.statuses : ['200']);
      return {
        route: `${isWrite ? 'POST' : 'GET'} ${template}`,
        server: 'api',
        method: method.value,
        target,
        headers,
        ...(sent !== undefined && { body: sent }),
        ...(method.fault === undefined && { operation: { method: isWrite ? 'post' : 'get', template } }),
        credential,
        expected: credential.isScarce ? [...statuses, '429'] : statuses,
      };
    });
}

/** The refusal where the organization or the key may not use the route. */
function surface({ writes }: Credential, isWrite: boolean): Part<null> {
  return writes === 'none' || (isWrite && writes === 'reads') ? bad(null, '404') : good(null);
}

/** Requests for pages with a known tag: with that tag and with others. */
function conditional(system: FuzzSystem, pages: Page[]): fc.Arbitrary<Fuzzed> {
  const other = headerText(0, 3_000).filter((value) => value.trim() !== '*');
  return fc
    .tuple(fc.constantFrom(...pages), fc.constantFrom('GET', 'HEAD'), fc.nat(7), other)
    .map(([{ credential, template, target, tag }, method, way, noise]): Fuzzed => {
      const matching = ['*', tag, `W/${tag}`, `"a", ${tag}`, `${tag},"b"`, ` ${tag}\t, W/"x"`];
      const given = matching[way] ?? noise;
      const isSame = way < matching.length;
      return {
        route: `GET ${template}`,
        server: 'api',
        method,
        target,
        headers: [
          ['Host', system.api],
          ['Authorization', credential.header!],
          ['If-None-Match', given],
        ],
        operation: { method: 'get', template },
        credential,
        expected: isSame ? ['304'] : given.includes(tag) ? ['200', '304'] : ['200'],
      };
    });
}

/** Paths without a route. */
function nowhere(system: FuzzSystem): fc.Arbitrary<Fuzzed> {
  const below = fc.constantFrom('', '/', '/calls/', '/calls/a/b', '/Calls', '/projects/', '/openapi.json/', '/openapi', '/docs', '//calls', '/./calls', '/../v1/calls', '/calls%2Fa', '/admin', '/%63alls/');
  const beside = fc.constantFrom('/index.html', '/v2/calls', '/V1/calls', '/v1calls', '/metrics', '/livez', '/readyz', '/mcp', '/favicon.ico', '/docs/', '/.git/config', '//', '/%2e%2e/v1/calls', '/\\', '/%FF');
  return fc
    .tuple(credentials(system.keys, system.addressLimit), fc.constantFrom(...METHODS), fc.oneof(below.map((path) => `/v1${path}`), beside), harmless)
    .map(([credential, method, target, more]): Fuzzed => {
      const isBelow = /^\/v1(\/|$)/.test(target);
      const statuses = isBelow && !credential.isUsable ? ['401'] : ['404'];
      return {
        route: 'no route',
        server: 'api',
        method,
        target,
        headers: headersOf([['Host', system.api], ['Authorization', credential.header], ...more]),
        credential,
        expected: credential.isScarce ? [...statuses, '429'] : statuses,
      };
    });
} // prettier-ignore

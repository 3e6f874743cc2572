/** Requests to every route of the OpenAPI document, as it says and otherwise. */
import fc from 'fast-check';
import type { Document, OperationObject, Parameter, Schema } from '../openapi.ts';
import { newProjects } from './bodies.ts';
import type { Page } from './learn.ts';
import { CALL_IDS, PROJECTS } from './records.ts';
import { bad, bounded, good, mostly, open, outcomes, type Credential, type Fuzzed, type Part } from './request.ts';
import type { FuzzSystem } from './system.ts';
import { broken, instantOf, noInstant, noUuid, someInstant, text, valid } from './values.ts';

type Pairs = [name: string, value: string][];

interface Route {
  template: string;
  operations: Record<string, OperationObject>;
}

const WRITE_SURFACE = new Set(['/billing-offices', '/projects', '/projects/{project_id}']);

/** Everything that the REST API can be asked for, well and badly. */
export function restRequests(system: FuzzSystem, document: Document, pages: Page[]): fc.Arbitrary<Fuzzed> {
  const routes = Object.entries(document.paths).map(([template, operations]) => ({ template, operations }));
  const weights: Record<string, number> = { '/calls': 8, '/calls/{call_id}': 8, '/projects': 6 };
  return fc
    .oneof(
      ...routes.map((route) => ({ arbitrary: toRoute(system, route), weight: weights[route.template] ?? 2 })),
      { arbitrary: conditional(system, pages), weight: 2 },
      { arbitrary: nowhere(system), weight: 1 },
    )
    .map(bounded);
}

const BAD_CREDENTIALS = [
  '',
  'Bearer',
  'Bearer ',
  'Basic YTpi',
  'Bearer crk_',
  `Bearer crk_${'a'.repeat(32)}`,
  'Bearer \xff\xfe',
  'crk_x',
  'Bearer a b',
  'null',
];

/** A key, mostly; the good ones in any of the spellings that are allowed. */
export function credentials(of: Credential[], addressLimit: number): fc.Arbitrary<Credential> {
  const nobody = (header: string | undefined): Credential => ({
    name: 'nobody',
    header,
    isUsable: false,
    limit: addressLimit,
    foreign: ['mark-'],
  });
  const plenty = of.filter(({ isScarce }) => !isScarce);
  const spelled = fc
    .tuple(fc.constantFrom(...plenty), fc.constantFrom('Bearer ', 'bearer ', 'BEARER   '))
    .map(([credential, scheme]) => ({
      ...credential,
      header: credential.header!.replace('Bearer ', scheme),
    }));
  const spoilt = fc
    .tuple(fc.constantFrom(...plenty), fc.nat(), fc.constantFrom('', 'x', '\t', '%', '\xe9'))
    .map(([{ header }, at, char]) => {
      const place = 8 + (at % (header!.length - 8));
      return nobody(header!.slice(0, place) + char + header!.slice(place + (char === '' ? 1 : 0)) + (char === '\t' ? 'x' : ''));
    });
  return mostly(
    9,
    spelled,
    fc.constantFrom(...of),
    fc.constantFrom(undefined, ...BAD_CREDENTIALS).map(nobody),
    spoilt,
    headerText(0, 8_000).map((value) => nobody(`Bearer ${value}`)),
  );
}

/** What may stand in a header: ISO 8859-1 without controls. */
export function headerText(min: number, max: number): fc.Arbitrary<string> {
  const unit = fc
    .oneof(fc.integer({ min: 0x21, max: 0x7e }), fc.integer({ min: 0x80, max: 0xff }))
    .map((code) => String.fromCharCode(code));
  const long = fc.tuple(unit, fc.integer({ min, max })).map(([char, length]) => char.repeat(length));
  return mostly(9, fc.string({ unit, minLength: min, maxLength: Math.min(max, 60) }), long);
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

/** The value of a parameter as text, before it is encoded. Null: no value of that kind can be made. */
function asText(schema: Schema): { valid: fc.Arbitrary<string>; broken: fc.Arbitrary<string> } {
  switch (schema['type']) {
    case 'integer': {
      const [min, max] = [schema['minimum'] as number, schema['maximum'] as number];
      const isValid = (value: string) => /^[1-9]\d{0,15}$/.test(value) && Number(value) >= min && Number(value) <= max;
      const odd = fc.constantFrom('', '0', '-1', '01', '+1', '1.0', '1e1', '0x1', ' 1', '1 ', '1\0', '1,1', '٣', '１', 'NaN', 'null', String(max + 1), '9'.repeat(400));
      return { valid: valid(schema).map(String), broken: fc.oneof(odd, text(1, 10_000), broken(schema).map(String)).filter((value) => !isValid(value)) };
    }
    case 'boolean':
      return {
        valid: fc.constantFrom('true', 'false'),
        broken: fc.oneof(fc.constantFrom('', 'TRUE', 'True', '1', '0', 'yes', ' true', 'true\n', 'false\0', 'null', '[true]'), text(1, 10_000)).filter((value) => !['true', 'false'].includes(value)),
      };
    default:
      return { valid: someInstant, broken: fc.oneof(fc.constant(''), noInstant) };
  }
} // prettier-ignore

/** Percent-encoded so that it means the same: everything, what must be, or what usually is. */
function encoded(value: string, style: number): string {
  if (style % 3 === 0) return encodeURIComponent(value.toWellFormed());
  const bytes = [...Buffer.from(value)];
  const mustBe = (byte: number) => byte <= 0x20 || byte >= 0x7f || '%&+#=?/\\'.includes(String.fromCharCode(byte));
  return bytes
    .map((byte) => (style % 3 === 1 || mustBe(byte) ? `%${byte.toString(16).padStart(2, '0')}` : String.fromCharCode(byte)))
    .join('');
}

function queries(template: string, parameters: Parameter[]): fc.Arbitrary<Part<string>> {
  const known = parameters.filter((parameter) => parameter.in === 'query');
  const fine = template === '/calls' ? ranges(known) : optional(known);
  const render = (pairs: Pairs, style: number) =>
    pairs.map(([name, value]) => `${encoded(name, style)}=${encoded(value, style)}`).join('&');
  const spoil = fc.oneof(
    ...known.map(({ name, schema }) =>
      fc.tuple(asText(schema).broken, fc.nat()).map(
        ([value, at]) =>
          (pairs: Pairs): Pairs =>
            insert(
              pairs.filter(([other]) => other !== name),
              [name, value],
              at,
            ),
      ),
    ),
    ...known
      .filter(({ required }) => required)
      .map(({ name }) => fc.constant((pairs: Pairs): Pairs => pairs.filter(([other]) => other !== name))),
    ...known.map(({ name, schema }) =>
      fc.tuple(asText(schema).valid, asText(schema).valid, fc.nat()).map(
        ([one, two, at]) =>
          (pairs: Pairs): Pairs =>
            insert(
              insert(
                pairs.filter(([other]) => other !== name),
                [name, one],
                at,
              ),
              [name, two],
              at + 1,
            ),
      ),
    ),
    fc
      .tuple(text(0, 10_000), text(0, 20), fc.nat())
      .filter(([name]) => !known.some((each) => each.name === name))
      .map(
        ([name, value, at]) =>
          (pairs: Pairs): Pairs =>
            insert(pairs, [name, value], at),
      ),
    fc
      .constantFrom('__proto__', 'constructor', 'toString', 'start_date[]', 'PAGE', 'page ', 'access_token')
      .map((name) => (pairs: Pairs): Pairs => [...pairs, [name, '1']]),
    ...(template === '/calls'
      ? [
          fc.constant((pairs: Pairs): Pairs =>
            pairs.map(([name, value]): [string, string] => [
              name === 'start_date' ? 'end_date' : name === 'end_date' ? 'start_date' : name,
              value,
            ]),
          ),
        ]
      : []),
  );
  const raw = fc.constantFrom(
    '%',
    '%zz',
    '%FF',
    '%00',
    '&',
    '&&',
    '=',
    '=1',
    'page',
    'a=1',
    '?',
    '#',
    '%ED%A0%80=1',
    '+',
    ';',
    '|',
    '"',
    '\\',
    '%c3%28',
  );
  return mostly(
    4,
    fc.tuple(fine, fc.nat(2)).map(([pairs, style]) => good(render(pairs, style))),
    fc.tuple(fine, spoil, fc.nat(2)).map(([pairs, change, style]) => bad(render(change(pairs), style), '400')),
    fc.tuple(fine, raw, fc.boolean()).map(([pairs, piece, before]) => open(before ? `${piece}&${render(pairs, 0)}` : `${render(pairs, 0)}&${piece}`, '400')),
  ); // prettier-ignore
}

function insert(pairs: Pairs, pair: [string, string], at: number): Pairs {
  return pairs.toSpliced(at % (pairs.length + 1), 0, pair);
}

function optional(parameters: Parameter[]): fc.Arbitrary<Pairs> {
  if (parameters.length === 0) return fc.constant([]);
  return fc
    .shuffledSubarray(parameters)
    .chain((chosen) =>
      fc.tuple(...chosen.map(({ name, schema }) => asText(schema).valid.map((value): [string, string] => [name, value]))),
    );
}

/** A range that is one, around the records or anywhere, and whatever else there may be. */
function ranges(parameters: Parameter[]): fc.Arbitrary<Pairs> {
  const first = Date.UTC(1, 0) - 1_899 * 365.2425 * 86_400_000;
  const anywhere = fc.oneof(
    fc.integer({ min: Date.UTC(2024, 11, 25), max: Date.UTC(2025, 1, 10) }),
    fc.integer({ min: Math.max(first, Date.UTC(1000, 0)), max: Date.UTC(3000, 0) }),
  );
  const instants = fc.uniqueArray(anywhere, { minLength: 2, maxLength: 2 }).chain((pair) => {
    const [start, end] = pair.toSorted((a, b) => a - b) as [number, number];
    return fc.tuple(instantOf(fc.constant(start)), instantOf(fc.constant(end)));
  });
  const whole = fc.constant<[string, string]>(['0001-01-01T00:00:00Z', '9999-12-31T23:59:59.999Z']);
  const rest = parameters.filter(({ name }) => !['start_date', 'end_date'].includes(name));
  return fc
    .tuple(mostly(9, instants, whole), optional(rest), fc.nat(), fc.nat())
    .map(([[start, end], more, one, two]) => insert(insert(more, ['start_date', start], one), ['end_date', end], two));
}

function paths(template: string): fc.Arbitrary<Part<string>> {
  const any = fc.oneof(text(1, 3_000), fc.constantFrom('..', '.', '\0', 'a/b', '%2e', '%', 'call_0\0', ' ', 'call_0 ', 'CALL_0', '__proto__'));
  const malformed = fc.constantFrom('%', '%zz', '%FF', 'call_0%', '%C3%28', '%ED%A0%80', '%00', '"<>^`{|}', '..', '.', '%2F', ';x=1').map((raw) => template.replace(/\{\w+\}/, () => raw));
  const put = (value: string, style: number) => template.replace(/\{\w+\}/, () => encoded(value, style));
  switch (template) {
    case '/calls/{call_id}':
      return mostly(3,
        fc.tuple(fc.constantFrom(...CALL_IDS), fc.nat(2)).map(([id, style]) => good(put(id, style))),
        fc.tuple(any.filter((id) => !CALL_IDS.includes(id)), fc.nat(2)).map(([id, style]) => bad(put(id, style), '404')),
        malformed.map((path) => bad(path, '404')));
    case '/projects/{project_id}':
      return mostly(3,
        fc.tuple(fc.constantFrom(...PROJECTS, ...PROJECTS.map((id) => id.toUpperCase())), fc.nat(2)).map(([id, style]) => good(put(id, style))),
        fc.uuid().map((id) => bad(put(id, 0), '404')),
        fc.tuple(noUuid, fc.nat(2)).map(([id, style]) => bad(put(id, style), '400')),
        malformed.map((path) => bad(path, '400')));
    default:
      return fc.constant(good(template));
  }
} // prettier-ignore

/** Headers that change nothing, whatever they say. */
export const harmless: fc.Arbitrary<Pairs> = mostly(
  3,
  fc.constant<Pairs>([]),
  fc.shuffledSubarray<[string, string]>([
    ['traceparent', '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'],
    ['traceparent', 'nonsense'],
    ['tracestate', 'a=b,,='],
    ['baggage', 'tenant=beta'],
    ['X-Request-Id', 'mine'],
    ['X-Forwarded-For', '10.0.0.1, nonsense'],
    ['X-Forwarded-Host', 'evil.example'],
    ['Forwarded', 'for=_x'],
    ['Range', 'bytes=0-1'],
    ['If-Match', '"x"'],
    ['If-Modified-Since', 'Wed, 21 Oct 2026 07:28:00 GMT'],
    ['If-Unmodified-Since', 'never'],
    ['Cache-Control', 'no-cache'],
    ['Accept-Encoding', 'gzip, br;q=nonsense'],
    ['Accept-Language', '\xff'],
    ['Cookie', 'a=b; c'],
    ['X-HTTP-Method-Override', 'DELETE'],
    ['X-Api-Key', 'x'],
    ['__proto__', 'x'],
    ['constructor', 'x'],
    ['X-Large', 'x'.repeat(6_000)],
    ['Expect', 'nonsense'],
    ['Upgrade', 'h2c'],
    ['Date', ''],
  ]),
  headerText(1, 4_000).map((value): Pairs => [['X-Fuzz', value]]),
);

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
      const headers: Pairs = [
        ['Host', system.api],
        ...(credential.header === undefined ? [] : [['Authorization', credential.header] as [string, string]]),
        ...(accept.value === undefined ? [] : [['Accept', accept.value] as [string, string]]),
        ...(request?.headers ?? []),
        ...more,
      ];
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

/** 404 where the organization, or the key, may not. */
function surface({ writes }: Credential, isWrite: boolean): Part<null> {
  return writes === 'none' || (isWrite && writes === 'reads') ? bad(null, '404') : good(null);
}

/** Pages whose tag is known, asked for with it and with others. */
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

/** Paths that are none. */
function nowhere(system: FuzzSystem): fc.Arbitrary<Fuzzed> {
  const below = fc.constantFrom('', '/', '/calls/', '/calls/a/b', '/Calls', '/projects/', '/openapi.json/', '/openapi', '/docs', '//calls', '/./calls', '/../v1/calls', '/calls%2Fa', '/admin', '/%63alls/');
  const beside = fc.constantFrom('/', '/v2/calls', '/V1/calls', '/v1calls', '/metrics', '/livez', '/readyz', '/mcp', '/favicon.ico', '/docs/', '/.git/config', '//', '/%2e%2e/v1/calls', '/\\', '/%FF');
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
        headers: [['Host', system.api], ...(credential.header === undefined ? [] : [['Authorization', credential.header] as [string, string]]), ...more],
        credential,
        expected: credential.isScarce ? [...statuses, '429'] : statuses,
      };
    });
} // prettier-ignore

/** The largest valid and invalid inputs of each route, tool and sign-in path. A fixed list, because random generation would rarely produce them. */
import { toolCall } from '@crs/testing/mcp';
import { EMAILS, PROJECTS } from './records.ts';
import type { Sent } from './request.ts';
import type { FuzzSystem } from './system.ts';
import { LEGACY, MODERN, MODERN_META, toolHeaders } from './tool-message.ts';
import { sendRequest, WireError } from './wire.ts';

/** An input that is measured without other load. */
export interface Greatest {
  name: string;
  /** @returns what is wrong with the response */
  send: () => Promise<string[]>;
}

type Headers = [name: string, value: string][];

/** Node's limit of the request line and headers is 16 KiB. */
const HEAD_BYTES = 15_500;
const BODY_BYTES = 64 * 1024;
const MIB = 1024 * 1024;

/** Repeats a text up to a number of bytes. */
const fill = (unit: string, bytes: number) => unit.repeat(Math.max(1, Math.floor(bytes / Buffer.byteLength(unit))));
const json = (value: unknown) => JSON.stringify(value);
const times = <T>(count: number, item: T) => Array<T>(count).fill(item);
/** Combining marks in an order that isn't canonical, so that normalization has to sort them. */
const MARKS = '\u0301\u0316';

const HEADERS = ['Accept', 'Accept-Encoding', 'Authorization', 'baggage', 'Content-Type', 'Cookie', 'Expect', 'Host', 'Idempotency-Key', 'If-None-Match', 'Mcp-Method', 'Mcp-Name', 'MCP-Protocol-Version', 'Origin', 'traceparent', 'tracestate', 'X-Forwarded-For']; // prettier-ignore
const HEADER_VALUES = ['a', ' ', ',', ';', '"', '",', 'W/"a",', 'a=b;', 'a=b,', '*/*,', 'a/b;q=0.1,', 'a/b;c="d,e",', '1.1.1.1,', '\xe9'].map((unit) => fill(unit, HEAD_BYTES)).concat(`"${fill(',', HEAD_BYTES)}`, `a="${fill(';', HEAD_BYTES)}`); // prettier-ignore
const QUERY_UNITS = ['a', '&', 'a=1&', 'page=1&', '%41', '%FF', '%CC%81%CC%96', '+', '=']; // prettier-ignore
const PATH_UNITS = ['a', '/', 'a/', '%41', '%FF/', '%', '%2F', '../', ';a=1', '%CC%81%CC%96'];

/** The headers of a page's request that are forwarded to auth. */
const PASSED_ON = new Set(['Accept', 'Content-Type', 'Cookie', 'Origin']);

export function greatestRequests(system: FuzzSystem): Greatest[] {
  return [...heads(system), ...projects(system), ...messages(system), ...signIn(system)];
}

export function sending(server: string, name: string, request: Sent): Greatest {
  const send = async () => {
    try {
      const { status, text } = await sendRequest(server, request);
      return status >= 500 ? [`status ${status}: ${text.slice(0, 300)}`] : [];
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      return [`wire: ${error.message}`];
    }
  };
  return { name, send };
}

/** The longest request targets and headers, with a valid credential, because other requests are refused earlier. */
function heads({ api, tools, key, users }: FuzzSystem): Greatest[] {
  const authorization: Headers = [['Authorization', key]];
  const to = (host: string, method: string, target: string, headers: Headers): Greatest =>
    sending(host, `${method} ${target.slice(0, 60)} ${headers.map(([name, value]) => `${name}: ${value.slice(0, 12)}`).join().slice(0, 80)}`, {
      method,
      target,
      headers: headers.some(([name]) => name === 'Host') ? headers : [['Host', host], ...headers],
    }); // prettier-ignore
  const token: Headers = toolHeaders(tools, users[0].header, { version: LEGACY }).filter(([name]) => name !== 'Host');
  const rest = ['/v1/calls', '/v1/calls/call_0', '/v1/changes', '/v1/billing-offices', '/v1/projects', '/v1/projects/x', '/v1/entities', '/v1/openapi.json', '/docs']; // prettier-ignore
  const pages = ['/authorize', '/connections', '/jwks', '/sign-in/x', '/.well-known/oauth-authorization-server'];
  const queries = ['', 'cursor=', 'start_date=', 'state='].flatMap((name) =>
    QUERY_UNITS.map((unit) => name + fill(unit, HEAD_BYTES)),
  );
  const paths = PATH_UNITS.map((unit) => fill(unit, HEAD_BYTES));
  const long = HEADERS.flatMap((name) => HEADER_VALUES.map((value): [string, string] => [name, value]));
  const many: Headers = times(3_000, ['a', '']);
  const without = (headers: Headers, name: string) => headers.filter(([other]) => other !== name);
  return [
    ...rest.flatMap((path) => queries.map((query) => to(api, 'GET', `${path}?${query}`, authorization))),
    ...pages.flatMap((path) => queries.map((query) => to(tools, 'GET', `${path}?${query}`, []))),
    ...['/v1/', '/v1/calls/', '/v1/projects/', '/docs/assets/', '/'].flatMap((start) => paths.map((path) => to(api, 'GET', start + path, authorization))),
    ...['/', '/sign-in/', '/connections/', '/.well-known/'].flatMap((start) => paths.map((path) => to(tools, 'GET', start + path, []))),
    ...long.map((header) => to(api, 'GET', '/v1/calls/call_0', [...without(authorization, header[0]), header])),
    ...long.map((header) => to(tools, 'POST', '/mcp', [...without(token, header[0]), header])),
    ...long.filter(([name]) => PASSED_ON.has(name)).map((header) => to(tools, 'GET', '/connections', [header])),
    ...[api, tools].map((host) => to(host, 'GET', '/v1/calls', [...authorization, ...many])),
  ]; // prettier-ignore
}

/** Bodies of `POST /projects`. */
function projects({ api, key }: FuzzSystem): Greatest[] {
  const project = { name: 'x', lead_email: EMAILS.ann };
  const email = `${'é'.repeat(200)}@crs.example`;
  const bodies: Record<string, string> = {
    '100 members': json({ ...project, member_emails: times(100, EMAILS.bob), summary: 'é'.repeat(2_000) }),
    '100 unknown members': json({ ...project, member_emails: times(100, email) }),
    '20,000 members': json({ ...project, member_emails: times(20_000, '') }),
    '10,000 members "abc@b"': json({ ...project, member_emails: times(8_000, 'abc@b') }),
    'a megabyte of members': json({ ...project, member_emails: times(MIB / 8, 'abc@b') }),
    'a megabyte of white space': json(project).padEnd(MIB, ' '),
    'white space': json(project).padEnd(BODY_BYTES, ' '),
    'long texts': json({ ...project, summary: 'a'.repeat(60_000) }),
    'a name of marks': json({ ...project, name: fill(MARKS, 60_000) }),
    'an e-mail of marks': json({ ...project, lead_email: `a${MARKS.repeat(125)}@b`, member_emails: times(100, `a${MARKS.repeat(60)}@b`) }),
    'an office of marks': json({ ...project, billing_office_name: fill(MARKS, 60_000) }),
    'escapes': `{"name":"${fill('\\u0041', 60_000)}","lead_email":"a@b"}`,
    'nested lists': fill('[', BODY_BYTES),
    'nested objects': fill('{"a":', BODY_BYTES),
    'nested members': json(project).replace('}', `,"member_emails":${'['.repeat(32_000)}${']'.repeat(32_000)}}`),
    'many properties': `{${Array.from({ length: 6_000 }, (_, n) => `"${n.toString(36)}":1`).join()}}`,
    'one property repeatedly': `{${fill('"name":1,', BODY_BYTES - 20)}"name":1}`,
    'a long number': `{"name":${'1'.repeat(60_000)}}`,
    'a long name of a property': json({ [fill('a', 60_000)]: 1 }),
  }; // prettier-ignore
  const post = (name: string, body: string, more: Headers = []) =>
    sending(api, `POST /projects: ${name}`, {
      method: 'POST',
      target: '/v1/projects',
      headers: [['Host', api], ['Authorization', key], ['Content-Type', 'application/json'], ...more],
      body,
    }); // prettier-ignore
  return [
    ...Object.entries(bodies).map(([name, body]) => post(name, body)),
    ...Object.entries(bodies).map(([name, body]) => post(`${name}, with a key`, body, [['Idempotency-Key', 'a'.repeat(255)]])),
  ];
}

const TOOLS: Record<string, string[]> = {
  list_calls: ['segment_contains', 'cursor', 'country', 'call_status', 'date_after', 'project_id', 'nonsense'],
  get_call: ['call_id'],
  list_entities: ['project_id', 'name_contains', 'type', 'cursor'],
  list_projects: ['scope', 'cursor'],
};

/** Messages to `/mcp`: texts of 60 KB in each argument, and messages of 1,000 values or of more. */
function messages({ tools, users }: FuzzSystem): Greatest[] {
  const texts = [fill('a', 60_000), fill(MARKS, 60_000), fill('\\"', 30_000), fill('Σ.', 60_000)];
  const calls = Object.entries(TOOLS).flatMap(([tool, names]) => [
    ...names.flatMap((name) => texts.map((text): [string, object] => [`${tool} ${name}: ${text.slice(0, 4)}`, toolCall(tool, { [name]: text })])),
    ...names.map((name): [string, object] => [`${tool} ${name}: a list`, toolCall(tool, { [name]: times(900, 'abc') })]),
    [`${tool}: 900 properties`, toolCall(tool, Object.fromEntries(times(900, 0).map((_, n) => [`a${n}`, n])))] as [string, object],
  ]); // prettier-ignore
  const others: [string, object][] = [
    ['900 projects', toolCall('list_entities', { project_id: PROJECTS[0], more: times(900, {}) })],
    ['a long tool', toolCall(fill('a', 60_000), {})],
    ['a long method', { jsonrpc: '2.0', id: 1, method: fill('a', 60_000) }],
    ['a long id', { ...toolCall('list_projects', {}), id: fill('a', 60_000) }],
    ['900 properties', { ...toolCall('list_projects', {}), ...Object.fromEntries(times(900, 0).map((_, n) => [`a${n}`, n])) }],
  ];
  const nested = (depth: number) => `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":${'[['.repeat(depth / 2)}${']]'.repeat(depth / 2)}}`; // prettier-ignore
  const raw: Record<string, string> = {
    'no JSON': fill('{', BODY_BYTES),
    'nested lists': fill('[', BODY_BYTES),
    '32 levels': nested(30),
    '20,000 levels': nested(20_000),
    'a batch': `[${fill('{"jsonrpc":"2.0","id":1,"method":"ping"},', 60_000)}{}]`,
    'many values': json(toolCall('list_calls', { limit: times(30_000, 1) })),
    'a string without end': `"${fill('\\\\', 60_000)}`,
    'white space': json(toolCall('list_projects', {})).padEnd(BODY_BYTES, ' '),
    'a megabyte': json(toolCall('list_projects', {})).padEnd(MIB, ' '),
  };
  const modern = (message: object) => ({
    ...message,
    params: { ...(message as { params?: object }).params, _meta: MODERN_META },
  });
  const post = (name: string, version: string, body: string, method?: string, tool?: string) =>
    sending(tools, `/mcp ${version}: ${name}`, {
      method: 'POST',
      target: '/mcp',
      headers: toolHeaders(tools, users[0].header, { version, method, name: tool }),
      body,
    });
  return [
    ...[...calls, ...others].flatMap(([name, message]) => {
      const { method, params } = message as { method: string; params?: { name?: string } };
      const repeated = method.length < 1_000 ? method : undefined;
      const tool = (params?.name?.length ?? 0) < 1_000 ? params?.name : undefined;
      return [post(name, LEGACY, json(message)), post(name, MODERN, json(modern(message)), repeated, tool)];
    }),
    ...Object.entries(raw).map(([name, body]) => post(name, LEGACY, body)),
  ];
}

/** Forms and messages of sign-in. */
function signIn({ tools }: FuzzSystem): Greatest[] {
  const redirects = (count: number) => Array.from({ length: count }, (_, n) => `https://a.example/${n}`);
  const bodies: [name: string, path: string, type: string, body: string][] = [
    ...['/token', '/revoke', '/authorize', '/sign-in/x', '/connections/sign-in'].flatMap((path) =>
      ['a=b&', 'grant_type=refresh_token&', '&', 'a', '%41', '%', 'a[b]=c&', '+', MARKS].map((unit): [string, string, string, string] =>
        [unit.slice(0, 12), path, 'application/x-www-form-urlencoded', fill(unit, BODY_BYTES)]),
    ),
    ['a long code', '/token', 'application/x-www-form-urlencoded', `grant_type=authorization_code&client_id=a&code=${fill('a', 60_000)}`],
    ['a long client', '/token', 'application/x-www-form-urlencoded', `grant_type=authorization_code&code=a&client_id=${fill('a', 60_000)}`],
    ['a client by its address', '/token', 'application/x-www-form-urlencoded', `grant_type=authorization_code&code=a&client_id=https://a.example/${fill('a', 60_000)}`],
    ['an assertion', '/token', 'application/x-www-form-urlencoded', `grant_type=authorization_code&client_assertion_type=urn:ietf:params:oauth:client-assertion-type:jwt-bearer&client_assertion=${fill('YQ', 40_000)}.${fill('YQ', 10_000)}.${fill('YQ', 10_000)}`],
    ['many redirects', '/register', 'application/json', json({ redirect_uris: redirects(2_400) })],
    ['a long redirect', '/register', 'application/json', json({ redirect_uris: [`https://a.example/${fill('a', 60_000)}`] })],
    ['a long name', '/register', 'application/json', json({ redirect_uris: redirects(1), client_name: fill('a', 60_000) })],
    ['a name of marks', '/register', 'application/json', json({ redirect_uris: redirects(1), client_name: fill(MARKS, 60_000) })],
    ['many properties', '/register', 'application/json', json(Object.fromEntries(times(5_000, 0).map((_, n) => [`a${n}`, n])))],
    ['many keys', '/register', 'application/json', json({ redirect_uris: redirects(1), jwks: { keys: times(1_500, { kty: 'RSA', n: 'AQAB', e: 'AQAB' }) } })],
    ['nested lists', '/register', 'application/json', fill('[', BODY_BYTES)],
    ['nested objects', '/register', 'application/json', fill('{"a":', BODY_BYTES)],
  ]; // prettier-ignore
  return [
    ...bodies.map(([name, target, type, body]) =>
      sending(tools, `POST ${target}: ${name}`, { method: 'POST', target, headers: [['Host', tools], ['Content-Type', type]], body }),
    ),
    ...['e-mail', 'organization'].map((field) => ({ name: `the sign-in form: ${field} of marks`, send: () => submitForm(tools, field) })),
  ]; // prettier-ignore
}

/** Submits the form of the connections page, with its token and cookie. */
async function submitForm(tools: string, long: string): Promise<string[]> {
  const page = await fetch(`http://${tools}/connections`);
  const hidden = (await page.text()).matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g);
  const fields = new Map([...hidden].map(([, name, value]) => [name!, value!]));
  const marks = encodeURIComponent(fill(MARKS, 5_000));
  const form = [...fields].map(([name, value]) => `${name}=${encodeURIComponent(value)}&`).join('');
  const typed =
    long === 'organization'
      ? `organization=${marks}&email=a@b.de`
      : `organization=alpha&email=a${fill(MARKS, 12_000)}@b.de&password=x`;
  const { status } = await fetch(`http://${tools}/connections/sign-in`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded', Cookie: page.headers.getSetCookie().map((cookie) => cookie.split(';', 1)[0]).join('; ') },
    body: form + typed,
    redirect: 'manual',
  }); // prettier-ignore
  return status >= 500 ? [`status ${status}`] : [];
}

/** Generates messages to `/mcp`: valid and invalid calls of every tool, by its schema. The conformance suite covers the other methods. */
import fc from 'fast-check';
import type { Schema } from '@crs/testing/openapi';
import type { KnownCursor } from './cursors.ts';
import { CALL_IDS, PROJECTS } from './records.ts';
import { bad, bounded, good, headersOf, mostly, open, outcomes, type Credential, type Fuzzed, type Part } from './request.ts';
import { credentials, harmless, headerText } from './headers.ts';
import { oddities } from './tool-oddities.ts';
import type { FuzzSystem } from './system.ts';
import { BAD, LEGACY_VERSIONS, MISSING, MODERN, MODERN_META, RESULT, toolHeaders } from './tool-message.ts';
import { anyJson, broken, text, valid } from './values.ts';

/** A tool as in `tools/list`. */
export interface ListedTool {
  name: string;
  inputSchema: { properties: Record<string, Schema>; required?: string[] };
  outputSchema: Schema;
}

interface Message {
  /** Row of the table. */
  name: string;
  params: Record<string, unknown>;
  /** The value of the header `Mcp-Name`. */
  tool: string;
  /** The scope that the tool requires. Absent for an unknown tool. */
  scope?: string;
  /** The tool's name and its arguments. */
  parts: Part<unknown>[];
  /** The outcome if no component is refused. */
  status: string;
}

const SCOPES: Record<string, string> = {
  get_call: 'calls:read',
  list_calls: 'calls:read',
  list_entities: 'entities:read',
  list_projects: 'projects:read',
};

export function toolRequests(system: FuzzSystem, tools: ListedTool[], cursors: KnownCursor[]): fc.Arbitrary<Fuzzed> {
  const users = credentials(system.users);
  const calls = fc.oneof(...tools.map((tool) => callOf(tool)));
  return fc.oneof(
    { arbitrary: fc.tuple(users, fc.oneof({ arbitrary: calls, weight: 12 }, { arbitrary: unknownTools, weight: 1 })).chain(([user, message]) => sent(system, user, message)), weight: 20 },
    { arbitrary: continued(cursors).chain(([user, message]) => sent(system, user, message)), weight: 3 },
    { arbitrary: oddities(system, users), weight: 4 },
  ).map(bounded); // prettier-ignore
}

function calling(tool: string, args: unknown, parts: Part<unknown>[]): Message {
  return {
    name: `tools/call ${tool}`,
    tool,
    scope: SCOPES[tool]!,
    params: { name: tool, ...(args !== undefined && { arguments: args }) },
    parts,
    status: RESULT,
  };
}

/** Generates the required arguments, some of the others, and sometimes an invalid one. */
function callOf({ name, inputSchema: { properties, required = [] } }: ListedTool): fc.Arbitrary<Message> {
  const optional = Object.keys(properties).filter((key) => !required.includes(key) && key !== 'cursor');
  const fine = fc
    .shuffledSubarray(optional, { maxLength: Math.min(optional.length, 6) })
    .chain((chosen) =>
      fc.tuple(...[...required, ...chosen].map((key) => argument(key, properties[key]!, required.includes(key)))),
    )
    .map((parts) => ({
      args: Object.fromEntries(parts.map(([key, { value }]) => [key, value])) as Record<string, unknown>,
      found: parts.map(([, part]) => part).find(({ fault, maybe }) => fault !== undefined || maybe !== undefined),
    }));
  const message = (args: unknown, parts: Part<unknown>[]) => calling(name, args, parts);
  const wrong: fc.Arbitrary<Record<string, unknown>> = fc.oneof(
    ...Object.entries(properties).map(([key, schema]) => wrongArgument(key, schema).map((value) => Object.fromEntries([[key, value]]))),
    ...required.map((key) => fc.constantFrom(null, undefined).map((value) => ({ [key]: value }))),
    fc.tuple(text(0, 3_000).filter((key) => !Object.hasOwn(properties, key)), anyJson.filter((value) => value !== null)).map((pair) => Object.fromEntries([pair])),
    fc.constantFrom('__proto__', 'constructor', 'organization_id', 'user_id', 'Limit').map((key) => Object.fromEntries([[key, {}]])),
  ); // prettier-ignore
  return mostly(
    5,
    fine.map(({ args, found }) => message(args, found ? [found] : [])),
    fc
      .tuple(fine, wrong)
      .map(([{ args }, one]) => message(Object.fromEntries([...Object.entries(args), ...Object.entries(one)]), [bad(null, BAD)])),
    // The SDKs themselves check that arguments are an object.
    anyJson
      .filter((value) => typeof value !== 'object' || Array.isArray(value))
      .map((args) => message(args, [bad(null, '200 rpc -32602')])),
  );
}

/** Generates a value that the schema allows, usually of an existing record. */
function argument(key: string, schema: Schema, isRequired: boolean): fc.Arbitrary<[string, Part<unknown>]> {
  const one = (): fc.Arbitrary<Part<unknown>> => {
    if (key === 'call_id') {
      const none = fc
        .oneof(text(0, 10_000), fc.constantFrom('', '\0', '\ud800', 'call_0 ', 'CALL_0'))
        .filter((id) => !CALL_IDS.includes(id));
      return mostly(
        4,
        fc.constantFrom(...CALL_IDS).map((id) => open(id, MISSING)),
        none.map((id) => bad(id, MISSING)),
      );
    }
    if (key === 'project_id') {
      const some = fc.constantFrom(...PROJECTS, PROJECTS[0]!.toUpperCase());
      // The oracle decides whether the user may see an existing id. An unknown id is never found.
      return mostly(4, some.map((id) => (isRequired ? open(id, MISSING) : good(id))), fc.uuid().map((id) => (isRequired ? bad(id, MISSING) : good(id)))); // prettier-ignore
    }
    if (key.endsWith('_contains') || key === 'country' || key === 'type') {
      return mostly(
        1,
        fc.constantFrom('mark', 'İ', 'company', 'türkiye', '%', '_', '\\', 'TÜRKI\u0307YE').map(good),
        valid(schema).map(good),
      );
    }
    return valid(schema).map(good);
  };
  // Absent and null are equivalent.
  const part = isRequired ? one() : mostly(9, one(), fc.constant(good(null)));
  return part.map((each) => [key, each]);
}

function wrongArgument(key: string, schema: Schema): fc.Arbitrary<unknown> {
  // An id that can't be stored is treated like an unknown one.
  if (key === 'call_id') return anyJson.filter((value) => value !== null && typeof value !== 'string');
  if (key === 'cursor')
    return fc.oneof(text(0, 6_000), fc.constantFrom('', '\0', '\ud800', 'e30', 'a'.repeat(4_097)), broken(schema));
  return broken(schema);
}

/** Generates requests for next pages by known cursors, with the arguments of the first page or with others. */
function continued(cursors: KnownCursor[]): fc.Arbitrary<[Credential, Message]> {
  const message = (tool: string, args: object, fault?: string) =>
    calling(tool, args, fault === undefined ? [] : [bad(null, fault)]);
  const one = fc.constantFrom(...cursors);
  const limit = fc.integer({ min: 1, max: 100 });
  return fc.oneof(
    fc.tuple(one, limit).map(([{ credential, tool, args, cursor }, size]): [Credential, Message] => [credential, message(tool, { ...args, cursor, limit: size })]),
    // The cursor belongs to another user, another organization or other filters.
    fc.tuple(one, one).map(([a, b]): [Credential, Message] => [a.credential, message(a.tool, { ...a.args, cursor: b.cursor }, isSame(a, b) ? undefined : BAD)]),
    fc.tuple(one, fc.nat(), fc.constantFrom('', 'A', '-', '=', '\0', ' ')).map(([{ credential, tool, args, cursor }, at, char]): [Credential, Message] => {
      const place = at % cursor.length;
      const spoilt = cursor.slice(0, place) + char + cursor.slice(place + 1);
      return [credential, message(tool, { ...args, cursor: spoilt }, spoilt === cursor ? undefined : BAD)];
    }),
  ); // prettier-ignore
}

/** A cursor is valid with every token of its user. */
function isSame(a: KnownCursor, b: KnownCursor): boolean {
  return a.credential.name === b.credential.name && a.tool === b.tool && JSON.stringify(a.args) === JSON.stringify(b.args);
}

const NO_TOOLS = ['', 'nope', 'LIST_CALLS', 'list_calls ', 'constructor', '__proto__', 'a'.repeat(5_000)];
const unknownTools: fc.Arbitrary<Message> = fc
  .oneof(
    fc.constantFrom(...NO_TOOLS),
    fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 50 }).filter((name) => name.trim() === name),
  )
  .filter((name) => !Object.hasOwn(SCOPES, name))
  .map((name) => ({
    name: 'tools/call of nothing',
    tool: name,
    params: { name, arguments: {} },
    parts: [],
    status: '200 rpc -32602',
  }));

const accepts = mostly<Part<string>>(
  15,
  fc.constantFrom('application/json, text/event-stream', '*/*', 'application/*, text/*;q=0.1').map(good),
  fc.constantFrom('application/json', 'text/event-stream', 'text/html', '*/*;q=0').map((type) => bad(type, '406')),
  headerText(0, 4_000).map((type) => open(type, '406')),
);
const types = mostly<Part<string>>(
  15,
  fc.constantFrom('application/json', 'application/json; charset=utf-8', 'APPLICATION/JSON').map(good),
  fc
    .constantFrom('', 'text/plain', 'application/jsonl', 'application/x-www-form-urlencoded', 'multipart/form-data')
    .map((type) => bad(type, '415')),
);
const methods = mostly<Part<string>>(
  30,
  fc.constant(good('POST')),
  fc.constantFrom('GET', 'HEAD', 'PUT', 'DELETE', 'PATCH', 'OPTIONS').map((method) => bad(method, '405')),
);
const origins = mostly<Part<string | undefined>>(
  30,
  fc.constant(good(undefined)),
  fc
    .oneof(fc.constantFrom('null', 'https://evil.example', 'nonsense', '', 'http://localhost.evil.example'), headerText(1, 3_000))
    .map((origin) => bad(origin, '403')),
);
const ids = mostly<unknown>(2, fc.integer(), text(0, 100), fc.constantFrom<unknown>(0, -1, '', 2 ** 53 - 1, 'x'.repeat(10_000)));

/** Generates a message with its headers. Some headers may be wrong. */
function sent(system: FuzzSystem, credential: Credential, message: Message): fc.Arbitrary<Fuzzed> {
  return fc
    .record({
      version: mostly(1, fc.constantFrom(undefined, ...LEGACY_VERSIONS), fc.constant(MODERN)),
      method: methods,
      type: types,
      accept: accepts,
      origin: origins,
      id: ids,
      spoilt: mostly(20, fc.constant(undefined), fc.nat(5)),
      more: harmless,
      size: mostly(300, fc.constant('small'), fc.constant('large')),
    })
    .map(({ version, method, type, accept, origin, id, spoilt, more, size }): Fuzzed => {
      const isModern = version === MODERN;
      const params = isModern ? { ...message.params, _meta: MODERN_META } : message.params;
      const body = JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params });
      const headers = toolHeaders(system.tools, credential.header, {
        version,
        method: 'tools/call',
        name: nameHeader(message.tool),
      });
      const replaced = headers.map(([name, value]): [string, string] => [
        name,
        { 'Content-Type': type.value, Accept: accept.value }[name] ?? value,
      ]);
      const [changed, protocol] = isModern && spoilt !== undefined ? spoil(replaced, spoilt) : [replaced, good(null)];
      const isScoped = message.scope === undefined || credential.scopes?.includes(message.scope) === true;
      const parts = [
        origin,
        credential.isUsable ? good(null) : bad(null, '401'),
        method,
        type,
        accept,
        size === 'large' ? bad(null, '413') : good(null),
        protocol,
        isScoped ? good(null) : bad(null, '403'),
        ...(credential.isScarce ? [open(null, '200 rate_limited', ...(message.scope === undefined ? ['429'] : []))] : []),
        ...message.parts,
      ];
      return {
        route: `${message.name} (${isModern ? 'modern' : 'older'})`,
        method: method.value,
        target: '/mcp',
        headers: headersOf([...changed, ['Origin', origin.value], ...more]),
        body: size === 'large' ? body.padEnd(64 * 1024 + 1, ' ') : body,
        credential,
        expected: outcomes(parts, [message.status]),
        rpcId: id,
      };
    });
}

/** Encodes a name that isn't allowed in a header as base64, as the protocol requires. */
function nameHeader(name: string): string {
  if (/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(name)) return name;
  return `=?base64?${Buffer.from(name).toString('base64')}?=`;
}

/** Headers of version 2026-07-28 that contradict the body. */
function spoil(headers: [string, string][], way: number): [[string, string][], Part<null>] {
  const name = ['Mcp-Method', 'Mcp-Name', 'MCP-Protocol-Version'][way % 3]!;
  const isThere = headers.some(([each]) => each === name);
  if (!isThere) return [headers, good(null)];
  const value = way < 3 ? undefined : name === 'MCP-Protocol-Version' ? '2027-01-01' : 'another';
  const changed = headers.flatMap(([each, old]): [string, string][] =>
    each !== name ? [[each, old]] : value === undefined ? [] : [[each, value]],
  );
  return [changed, { value: null, fault: '400 rpc -32020', maybe: ['400 rpc -32022'] }];
}

/** Generates requests to `/mcp` with a malformed or unusual message. */
import fc from 'fast-check';
import { toolCall } from '@crs/testing/mcp';
import { bad, good, open, outcomes, type Credential, type Fuzzed, type Part } from './request.ts';
import type { FuzzSystem } from './system.ts';
import { BAD, LEGACY_VERSIONS, MISSING, MODERN, RESULT, toolHeaders } from './tool-message.ts';
import { anyJson } from './values.ts';

const MESSAGE = toolCall('list_calls', {});
const ANY_RPC = [
  ...[RESULT, BAD, MISSING, '200 rate_limited', '202', '403', '404 rpc -32601'],
  ...[-32600, -32602, -32601].map((code) => `200 rpc ${code}`),
  ...[-32600, -32700, -32602, -32020, -32022, -32000].map((code) => `400 rpc ${code}`),
];

const MAX_BODY_BYTES = 64 * 1024;

/** A body nested more than 32 levels deep. The gateway checks its size first, then its depth, and its syntax last. */
function tooDeep(body: string): Part<string> {
  return bad(body, body.length > MAX_BODY_BYTES ? '413' : '400 rpc -32600');
}

/** Bodies that are not a message, or an unusual one. */
export function oddities(system: FuzzSystem, users: fc.Arbitrary<Credential>): fc.Arbitrary<Fuzzed> {
  const raw: fc.Arbitrary<Part<string | Buffer>> = fc.oneof(
    fc.constantFrom('', '{', '{"jsonrpc":"2.0"', 'nonsense', '\ufeff'.repeat(2), '{"a":1}}', "{'a':1}", '[', 'NaN').map((body) => bad(body, '400 rpc -32700')),
    fc.nat(JSON.stringify(MESSAGE).length - 2).map((length) => bad(JSON.stringify(MESSAGE).slice(0, length), '400 rpc -32700')),
    fc.uint8Array({ maxLength: 100 }).map((bytes) => Buffer.concat([Buffer.from('{"'), Buffer.from(bytes), Buffer.from([0xff])])).map((body) => bad(body, '400 rpc -32700')),
    fc.constantFrom('null', '1', '"tools/list"', 'true', '[]', `[${JSON.stringify(MESSAGE)}]`, '[[]]', '[1,2]').map((body) => bad(body, '400 rpc -32600')),
    fc.tuple(fc.constantFrom('[', '{"a":'), fc.constantFrom(100, 10_000, 100_000)).map(([piece, depth]) => tooDeep(piece.repeat(depth))),
    fc.constantFrom(5_000, 100_000).map((depth) => tooDeep('['.repeat(depth) + ']'.repeat(depth))),
    fc.constantFrom(1_000, 5_000).map((depth) => open(JSON.stringify({ ...MESSAGE, params: { name: 'list_calls', arguments: { scope: 0 } } }).replace('0}', `${'['.repeat(depth)}${']'.repeat(depth)}}`), ...ANY_RPC)),
    // A member is missing, has the wrong type, or is unknown.
    fc.tuple(fc.constantFrom('jsonrpc', 'id', 'method', 'params', 'result', 'error', 'extra', '__proto__'), fc.oneof(fc.constant(undefined), anyJson)).map(([key, value]) => open(JSON.stringify(Object.fromEntries([...Object.entries(MESSAGE), [key, value]])), ...ANY_RPC)),
    fc.tuple(fc.constantFrom('name', 'arguments', '_meta', 'task', '__proto__', 'extra'), fc.oneof(fc.constant(undefined), anyJson)).map(([key, value]) => open(JSON.stringify({ ...MESSAGE, params: Object.fromEntries([...Object.entries(MESSAGE.params), [key, value]]) }), ...ANY_RPC)),
    fc.constantFrom('notifications/initialized', 'notifications/cancelled', 'notifications/nope', 'tools/call', 'tools/list').map((method) => open(JSON.stringify({ jsonrpc: '2.0', method }), ...ANY_RPC)),
    fc.constantFrom('1e400', '-0', '1.5', '9'.repeat(400), '1e-400').map((number) => open(JSON.stringify(MESSAGE).replace('"id":1', `"id":${number}`), ...ANY_RPC)),
    fc.constantFrom('1e400', '9'.repeat(400), '1e-400', '-0').map((number) => open(JSON.stringify({ ...MESSAGE, params: { name: 'list_calls', arguments: { min_cost: 0 } } }).replace('"min_cost":0', `"min_cost":${number}`), ...ANY_RPC)),
  ); // prettier-ignore
  const versions = fc.constantFrom(undefined, ...LEGACY_VERSIONS, MODERN, '2027-01-01', '1999-01-01', '', '\xff');
  return fc.tuple(users, raw, versions).map(([credential, body, version]): Fuzzed => {
    const headers = toolHeaders(system.tools, credential.header, { version, method: 'tools/call', name: 'list_calls' });
    // The message itself also contains its protocol version.
    const isOdd = body.maybe !== undefined || (version !== undefined && !LEGACY_VERSIONS.includes(version));
    const parts = [
      credential.isUsable ? good(null) : bad(null, '401'),
      isOdd ? { ...body, maybe: [...ANY_RPC, ...(credential.isScarce ? ['429'] : [])] } : body,
    ];
    return {
      route: 'oddities (mcp)',
      method: 'POST',
      target: '/mcp',
      headers,
      body: body.value,
      credential,
      expected: outcomes(parts, ANY_RPC),
    };
  });
}

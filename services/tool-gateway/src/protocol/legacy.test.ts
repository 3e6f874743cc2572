import { expect, it } from 'vitest';
import { speaksNothingNewer } from './legacy.ts';
import { speaksLegacy } from './modern.ts';

const NEWEST = '2026-07-28';
const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'list_calls', arguments: {} } };
const claim = { 'io.modelcontextprotocol/protocolVersion': NEWEST };

const MESSAGES: Record<string, object> = {
  'a call': call,
  'a call without parameters': { jsonrpc: '2.0', id: 'a', method: 'tools/list' },
  'an initialize': { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: NEWEST, capabilities: {} } },
  'a call with a progress token': { ...call, params: { ...call.params, _meta: { progressToken: 1 } } },
  'a call that claims the newest version': { ...call, params: { ...call.params, _meta: claim } },
  'a call with parameters that are no object': { ...call, params: 'x' },
  'a call without an id': { jsonrpc: '2.0', method: 'tools/call', params: {} },
  'a call with an id that is null': { ...call, id: null },
  'a call with an unknown member': { ...call, more: 1 },
  'an answer': { jsonrpc: '2.0', id: 1, result: {} },
  'an error': { jsonrpc: '2.0', id: 1, error: { code: 1, message: 'x' } },
  'no message': { hello: 'world' },
};
const VERSIONS = [undefined, '2025-03-26', '2025-11-25', NEWEST, '1999-01-01', ''];

it('takes for older only messages that the newer SDK takes for older, too', async () => {
  const older: string[] = [];
  for (const [name, message] of Object.entries(MESSAGES)) {
    for (const version of VERSIONS) {
      if (!speaksNothingNewer(version, message)) continue;
      older.push(`${name}, ${version}`);
      const headers = { 'content-type': 'application/json', ...(version !== undefined && { 'mcp-protocol-version': version }) };
      const request = new Request('http://localhost/mcp', { method: 'POST', headers });
      expect(await speaksLegacy(request, message), older.at(-1)).toBe(true);
    }
  }
  const spoken = ['undefined', '2025-03-26', '2025-11-25'];
  expect(older).toEqual(
    ['a call', 'a call without parameters', 'an initialize'].flatMap((name) => spoken.map((version) => `${name}, ${version}`)),
  );
});

/** Creates messages to `/mcp` in both generations of the protocol. */
import { headersOf } from './request.ts';

export const LEGACY = '2025-11-25';
export const LEGACY_VERSIONS = [LEGACY, '2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07'];
export const MODERN = '2026-07-28';
const META = 'io.modelcontextprotocol';

interface Spoken {
  /** Undefined if the message has none. */
  version: string | undefined;
  /** Protocol version 2026-07-28 repeats them in headers. */
  method?: string | undefined;
  name?: string | undefined;
}

export function toolHeaders(
  host: string,
  authorization: string | undefined,
  { version, method, name }: Spoken,
): [string, string][] {
  return headersOf([
    ['Host', host],
    ['Authorization', authorization],
    ['Content-Type', 'application/json'],
    ['Accept', 'application/json, text/event-stream'],
    ['MCP-Protocol-Version', version],
    ['Mcp-Method', version === MODERN ? method : undefined],
    ['Mcp-Name', version === MODERN ? name : undefined],
  ]);
}

/** The parameters that version 2026-07-28 requires in every request. */
export const MODERN_META = {
  [`${META}/protocolVersion`]: MODERN,
  [`${META}/clientCapabilities`]: {},
  [`${META}/clientInfo`]: { name: 'fuzz', version: '1' },
};

// Outcomes of a call of a tool.
export const RESULT = '200 result';
export const BAD = '200 bad_request';
export const MISSING = '200 not_found';

/** The parsed response to a tool call. */
export interface ToolResponse {
  status: number;
  headers: Headers;
  /** The structured content. Undefined if the tool refused. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests access any property
  value: any;
  /** `{code, message, request_id}` if the tool refused. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests access any property
  error: any;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests access any property
  json: any;
}

export type Tools = (name: string, args?: object) => Promise<ToolResponse>;

/** Calls tools at `address` (`host:port`) with an access token. */
export function toolClient(address: string, token: string): Tools {
  return async (name, args = {}) => {
    const response = await postMcp(address, toolCall(name, args), { authorization: `Bearer ${token}` });
    const json = JSON.parse(await response.text());
    const result = json.result;
    return {
      status: response.status,
      headers: response.headers,
      value: result?.structuredContent,
      error: result?.isError ? JSON.parse(result.content[0].text).error : undefined,
      json,
    };
  };
}

/** Returns the message that calls a tool. */
export const toolCall = (name: string, args: object) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: args },
});

/** The headers of a client of protocol version 2025-11-25. */
export const MCP_HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': '2025-11-25',
};

/** Sends a POST to `/mcp` like a client of protocol version 2025-11-25. */
export function postMcp(address: string, message: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`http://${address}/mcp`, {
    method: 'POST',
    headers: { ...MCP_HEADERS, ...headers },
    body: typeof message === 'string' ? message : JSON.stringify(message),
  });
}

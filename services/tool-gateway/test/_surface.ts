// Derives one valid request for each route and each tool of the running gateways from what they publish.
import { sendRequest, type HttpResponse } from '@crs/testing/send-request';
import { MCP_HEADERS, toolCall } from '@crs/testing/mcp';
import type { Document } from '@crs/testing/openapi';

/**
 * Values for required parameters, body fields and tool arguments, by name. Operations that change or delete a record take the id `written_<name>`. `line`
 * is a line of records.
 */
export type Values = Record<string, string>;

/** A request to a route or a tool that needs a credential. */
export interface Request {
  /** The operation id or the name of the tool: `getCall`, `list_calls`. */
  name: string;
  /** @param address `host:port` of a gateway */
  send: (address: string, credential: string) => Promise<HttpResponse>;
}

/**
 * Returns one request for each route in the gateway's OpenAPI document that needs a key.
 * @param address `host:port`
 * @throws Error if `values` lacks a required one
 */
export async function everyRoute(address: string, values: Values): Promise<Request[]> {
  const { servers, paths, components } = JSON.parse(
    (await sendRequest(`http://${address}/v1/openapi.json`, {})).body,
  ) as Document;
  const base = new URL(servers[0]!.url).pathname;
  return Object.entries(paths).flatMap(([template, operations]) =>
    Object.entries(operations)
      .filter(([, { security }]) => security === undefined)
      .map(([method, { operationId, parameters, requestBody }]) => {
        const required = (place: string) =>
          parameters.filter((each) => each.in === place && each.required).map(({ name }) => name);
        // Lists of constants are complete, because each constant may need another service.
        const lists = parameters.flatMap(({ name, schema }) => {
          const { enum: constants } = (schema['items'] ?? {}) as { enum?: string[] };
          return constants ? [[name, constants.join(',')] as const] : [];
        });
        const search = { ...pick(values, required('query'), operationId), ...Object.fromEntries(lists) };
        const query = new URLSearchParams(search).toString();
        const valueOf = (name: string) => pick(values, [name], operationId)[name]!;
        const prefix = ['put', 'patch', 'delete'].includes(method) ? 'written_' : '';
        const path = base + template.replaceAll(/\{(\w+)\}/g, (_, name: string) => valueOf(prefix + name));
        const [type, content] = Object.entries(requestBody?.content ?? {})[0] ?? [];
        const schema = components.schemas[content?.schema['$ref']?.toString().split('/').at(-1) ?? ''];
        const json = () => JSON.stringify(pick(values, (schema?.['required'] as string[] | undefined) ?? [], operationId));
        const body = type === undefined ? undefined : type === 'application/json' ? json() : valueOf('line');
        return {
          name: operationId,
          send: (at: string, key: string) => {
            const headers = { authorization: `Bearer ${key}`, ...(type !== undefined && { 'content-type': type }) };
            return sendRequest(`http://${at}${path}${query && `?${query}`}`, { method: method.toUpperCase(), headers }, body);
          },
        };
      }),
  );
}

/**
 * Returns one request for each tool that the gateway lists.
 * @param address `host:port`
 * @param token an access token with every scope
 * @throws Error if `values` lacks a required one
 */
export async function everyTool(address: string, token: string, values: Values): Promise<Request[]> {
  const post = (at: string, credential: string, message: object) => {
    const headers = { ...MCP_HEADERS, authorization: `Bearer ${credential}` };
    return sendRequest(`http://${at}/mcp`, { headers }, JSON.stringify(message));
  };
  const { body } = await post(address, token, { jsonrpc: '2.0', id: 1, method: 'tools/list' });
  const { tools } = (JSON.parse(body) as { result: { tools: { name: string; inputSchema: { required?: string[] } }[] } }).result;
  return tools.map(({ name, inputSchema }) => {
    const message = toolCall(name, pick(values, inputSchema.required ?? [], name));
    return { name, send: (at: string, credential: string) => post(at, credential, message) };
  });
}

/** Whether the response of a route or a tool is a success. */
export function isServed({ status, body }: HttpResponse): boolean {
  if (status !== 200 && status !== 201) return false;
  return (JSON.parse(body) as { result?: { isError?: boolean } }).result?.isError !== true;
}

function pick(values: Values, names: string[], by: string): Values {
  const missing = names.find((name) => values[name] === undefined);
  if (missing !== undefined) throw new Error(`${by} needs a value for ${missing}.`);
  return Object.fromEntries(names.map((name) => [name, values[name]!]));
}

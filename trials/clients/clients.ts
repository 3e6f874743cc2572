/** Third-party clients, adapted to the interface that `exercise.ts` needs. */
import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { createMCPClient } from '@ai-sdk/mcp';
import { Client as NewClient, StreamableHTTPClientTransport as NewHttpTransport } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as OldHttpTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';

export interface ToolResult {
  content: { type: string; text?: string }[];
  structuredContent?: unknown;
  isError?: boolean;
}

export interface Client {
  /** The negotiated protocol version. Undefined if the client doesn't report it. */
  protocol?: string | undefined;
  /** Without a token, this client would open a browser. */
  signsIn?: boolean;
  list(): Promise<string[]>;
  call(name: string, args: Record<string, unknown>): Promise<ToolResult>;
  close?(): Promise<void>;
}

type Connect = (url: string, headers: Record<string, string>) => Promise<Client>;

const require = createRequire(import.meta.url);
const SELF = { name: 'outside-client', version: '1.0.0' };

export const CLIENTS: Record<string, Connect> = {
  'sdk-v1': async (url, headers) => {
    const transport = new OldHttpTransport(new URL(url), { requestInit: { headers } });
    return { ...(await oldClient(transport)), protocol: transport.protocolVersion };
  },
  'sdk-v2': (url, headers) => newClient(url, headers, 'legacy'),
  'sdk-v2-auto': (url, headers) => newClient(url, headers, 'auto'),
  'ai-sdk': (url, headers) => aiSdk(url, headers, true),
  'ai-sdk-initialize': (url, headers) => aiSdk(url, headers, false),
  'inspector-legacy': (url, headers) => inspector(url, headers, 'legacy'),
  'inspector-modern': (url, headers) => inspector(url, headers, 'modern'),
  // A proxy for assistants without HTTP, which communicates over its standard streams.
  'mcp-remote': async (url, headers) => {
    const given = Object.entries(headers).flatMap(([name, value]) => ['--header', `${name}: ${value}`]);
    const args = [require.resolve('mcp-remote/dist/proxy.js'), url, '--allow-http', '--transport', 'http-only', ...given];
    // The child process gets only these variables. Sign-in needs more of them.
    const env = process.env as Record<string, string>;
    const transport = new StdioClientTransport({ command: process.execPath, args, env, stderr: 'ignore' });
    return { ...(await oldClient(transport)), signsIn: true };
  },
};

async function oldClient(transport: Transport): Promise<Client> {
  const client = new OldClient(SELF);
  await client.connect(transport);
  return {
    list: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args) => (await client.callTool({ name, arguments: args })) as ToolResult,
    close: () => client.close(),
  };
}

async function newClient(url: string, headers: Record<string, string>, mode: 'legacy' | 'auto'): Promise<Client> {
  const client = new NewClient(SELF, { versionNegotiation: { mode } });
  await client.connect(new NewHttpTransport(new URL(url), { requestInit: { headers } }));
  return {
    protocol: client.getNegotiatedProtocolVersion(),
    list: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: (name, args) => client.callTool({ name, arguments: args }),
    close: () => client.close(),
  };
}

async function aiSdk(url: string, headers: Record<string, string>, protocolVersionDiscovery: boolean): Promise<Client> {
  const client = await createMCPClient({ transport: { type: 'http', url, headers }, protocolVersionDiscovery });
  // A model gets the tools as functions by name.
  const tools = await client.tools();
  return {
    protocol: client.initializeResult.protocolVersion,
    list: async () => Object.keys(tools),
    call: async (name, args) => (await tools[name]!.execute(args, { toolCallId: name, messages: [], context: {} })) as ToolResult,
    close: () => client.close(),
  };
}

/** Starts a process for each request. */
async function inspector(url: string, headers: Record<string, string>, era: 'legacy' | 'modern'): Promise<Client> {
  const given = Object.entries(headers).flatMap(([name, value]) => ['--header', `${name}: ${value}`]);
  const options = [url, '--transport', 'http', '--protocol-era', era, '--stored-auth-only', '--format', 'json', '-q', ...given];
  const run = async (method: string, ...rest: string[]) => {
    const { code, stdout, stderr } = await runBin('inspector', ['--cli', ...options, '--method', method, ...rest]);
    // Exit code 3 means auth_required; 5 means that the tool returned an error, which is printed like a result.
    if (code === 3) throw Object.assign(new Error(stderr), { code: 401 });
    if (code !== 0 && code !== 5) throw new Error(`ended with ${code}: ${stderr}`);
    return { result: (JSON.parse(stdout) as { result: unknown }).result, stderr };
  };
  return {
    list: async () => {
      const { result, stderr } = await run('tools/list', '--strict');
      process.stdout.write(`  --strict: ${stderr.trim().split('\n').at(-1)}\n`);
      return (result as { tools: { name: string }[] }).tools.map(({ name }) => name);
    },
    call: async (name, args) => {
      const { result } = await run('tools/call', '--tool-name', name, '--tool-args-json', JSON.stringify(args));
      return result as ToolResult;
    },
  };
}

/** Runs a command of this folder's packages. @returns its exit code and its output */
export function runBin(name: string, args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const bin = new URL(`node_modules/.bin/${name}`, import.meta.url).pathname;
  return new Promise((resolve) => {
    execFile(process.execPath, [bin, ...args], { timeout: 60_000 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? -1), stdout, stderr });
    });
  });
}

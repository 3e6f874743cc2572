/** Third-party MCP clients that lose their refresh token, so that they can only use the access token of their sign-in. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { Assistant } from './assistant.ts';
import type { ToolResult } from './clients.ts';
import { createOpener } from './opener.ts';

export interface ForgetfulClient {
  /** Calls a tool. @returns the ids of the user's projects; undefined if the client wants the user to sign in instead */
  call(): Promise<string[] | undefined>;
  close(): Promise<unknown>;
}

/** Opens an authorization URL as the user, who allows access. */
type Allow = (authorizationUrl: string) => Promise<unknown>;

export interface Setting {
  url: string;
  allow: Allow;
  /** Further environment variables of a client that is a process. */
  env: Record<string, string>;
}

const TOOL = { name: 'list_projects', arguments: { scope: 'all' } };
const require = createRequire(import.meta.url);

/** By the name that the client registers. */
export const FORGETFUL: Record<string, (setting: Setting) => Promise<ForgetfulClient>> = {
  'TypeScript SDK': typescriptSdk,
  'Python SDK': pythonSdk,
  'mcp-remote': mcpRemote,
};

class ForgetfulAssistant extends Assistant {
  override get clientMetadata() {
    return { ...super.clientMetadata, client_name: 'TypeScript SDK' };
  }
  override saveTokens(tokens: Parameters<Assistant['saveTokens']>[0]) {
    super.saveTokens(tokens && { ...tokens, refresh_token: undefined });
  }
}

/** In this process, whose clock doesn't move: the SDK never looks at the lifetime of a token. */
async function typescriptSdk({ url, allow }: Setting): Promise<ForgetfulClient> {
  const assistant = await ForgetfulAssistant.start();
  const connect = () => new StreamableHTTPClientTransport(new URL(url), { authProvider: assistant });
  const transport = connect();
  await assert.rejects(new Client({ name: 'forgetful', version: '1.0.0' }).connect(transport), UnauthorizedError);
  await allow(assistant.authorizationUrl!);
  await transport.finishAuth(assistant.callbackParams!);
  const client = new Client({ name: 'forgetful', version: '1.0.0' });
  await client.connect(connect());
  return {
    call: async () => {
      try {
        return projectsOf(await client.callTool(TOOL));
      } catch (error) {
        if (error instanceof UnauthorizedError) return undefined;
        throw error;
      }
    },
    close: () => client.close(),
  };
}

async function pythonSdk({ url, allow, env }: Setting): Promise<ForgetfulClient> {
  const assistant = await Assistant.start();
  const script = new URL('never-refresh.py', import.meta.url).pathname;
  const child = spawn(process.env['PYTHON']!, [script, url, assistant.redirectUrl], {
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async () => {
    const line = await lines.next();
    assert(!line.done, 'the Python client ended');
    return line.value.split(' ');
  };
  const send = (line: string) => child.stdin.write(`${line}\n`);
  const [event, authorizationUrl] = await next();
  assert.equal(event, 'open');
  await allow(authorizationUrl!);
  send(String(assistant.callbackParams));
  assert.deepEqual(await next(), ['ready']);
  return {
    call: async () => {
      send('call');
      const words = await next();
      return words[0] === 'open' ? undefined : words;
    },
    close: async () => {
      const exited = once(child, 'exit');
      child.kill();
      await exited;
    },
  };
}

async function mcpRemote({ url, allow, env }: Setting): Promise<ForgetfulClient> {
  const opener = await createOpener();
  const folder = await mkdtemp(join(tmpdir(), 'crs-mcp-remote-'));
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [require.resolve('mcp-remote/dist/proxy.js'), url, '--allow-http', '--transport', 'http-only'],
    env: { ...(process.env as Record<string, string>), ...env, ...opener.env, MCP_REMOTE_CONFIG_DIR: folder },
    stderr: 'ignore',
  });
  const client = new OldClient({ name: 'forgetful', version: '1.0.0' });
  await Promise.all([client.connect(transport), opener.nextUrl().then(allow)]);
  await forgetRefreshToken(folder);
  const opened = async (ended: AbortSignal) => {
    while (!ended.aborted && (await opener.openedUrl()) === undefined) await sleep(50);
    return undefined;
  };
  return {
    call: async () => {
      const ended = new AbortController();
      // Without a usable token, mcp-remote opens the browser and waits for the user.
      const called = client.callTool(TOOL).then((result) => projectsOf(result as ToolResult));
      called.catch(() => undefined);
      return Promise.race([called, opened(ended.signal)]).finally(() => ended.abort());
    },
    close: async () => {
      await client.close();
      await Promise.all([opener.close(), rm(folder, { recursive: true })]);
    },
  };
}

/** Removes the refresh token from the file in which mcp-remote keeps its tokens, and reads them for each request. */
async function forgetRefreshToken(folder: string): Promise<void> {
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('tokens.json'));
  assert.equal(names.length, 1);
  const file = join(folder, names[0]!);
  const { refresh_token: refreshToken, ...rest } = JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>;
  assert(refreshToken);
  await writeFile(file, JSON.stringify(rest));
}

function projectsOf({ content, structuredContent }: { content?: unknown; structuredContent?: unknown }): string[] {
  assert(structuredContent, JSON.stringify(content));
  return (structuredContent as { projects: { id: string }[] }).projects.map(({ id }) => id);
}

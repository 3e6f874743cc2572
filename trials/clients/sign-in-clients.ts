/** Checks that third-party assistants can sign the user in: each opens a browser, gets the user's consent, and calls a tool. */
import assert from 'node:assert/strict';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Assistant } from './assistant.ts';
import { CLIENTS, runBin, type ToolResult } from './clients.ts';
import * as demo from './demo.ts';
import { openBrowser } from './person.ts';

const url = process.env['MCP_URL']!;
const TOOL = 'list_projects';
const ARGS = { scope: 'all' };

// On Linux, clients open a browser with this command. Some use a library instead, which reads BROWSER.
const work = await mkdtemp(join(tmpdir(), 'crs-opener-'));
const opened = join(work, 'url');
const opener = join(work, 'xdg-open');
await writeFile(opener, `#!/bin/sh\nprintf '%s\\n' "$1" >'${opened}'\n`);
await chmod(opener, 0o755);
Object.assign(process.env, { PATH: `${work}:${process.env['PATH']}`, BROWSER: opener, MCP_AUTO_OPEN_ENABLED: 'true' });

const person = await openBrowser();

const assistant = await Assistant.start();
const connect = async () => {
  const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: assistant });
  const client = new Client({ name: 'example-assistant', version: '1.0.0' });
  return { client, transport, error: await client.connect(transport).catch((error: unknown) => error) };
};
const { transport, error } = await connect();
assert(error instanceof UnauthorizedError);
await person.decide(assistant.authorization!, 'Allow');
await transport.finishAuth(assistant.answer!.get('code')!);
const { client } = await connect();
check('SDK v1', (await client.callTool({ name: TOOL, arguments: ARGS })) as ToolResult);

const [remote] = await Promise.all([CLIENTS['mcp-remote']!(url, {}), allow()]);
check('mcp-remote', await remote.call(TOOL, ARGS));
await remote.close!();

// Without a keychain, the Inspector keeps its tokens in memory, and its second run would have to sign in again.
process.env['MCP_INSPECTOR_SECRET_STORE'] = 'file';
const inspect = () =>
  runBin('inspector', [
    ...['--cli', url, '--transport', 'http', '--format', 'json', '--callback-url', 'http://127.0.0.1:0/oauth/callback'],
    ...['--method', 'tools/call', '--tool-name', TOOL, '--tool-args-json', JSON.stringify(ARGS)],
  ]);
const [first] = await Promise.all([inspect(), allow()]);
check('Inspector', (JSON.parse(first.stdout) as { result: ToolResult }).result);
const again = await inspect();
check('Inspector, again with its stored tokens', (JSON.parse(again.stdout) as { result: ToolResult }).result);

await person.leave();
await rm(work, { recursive: true });
/** Waits until a client opens a browser, and gives consent there. */
async function allow(): Promise<void> {
  for (let tries = 0; tries < 300; tries++) {
    const authorization = await readFile(opened, 'utf8').catch(() => '');
    if (authorization.endsWith('\n')) {
      await rm(opened);
      await person.decide(authorization.trim(), 'Allow');
      return;
    }
    await sleep(100);
  }
  throw new Error('no browser was opened');
}

function check(name: string, { structuredContent }: ToolResult): void {
  const { projects } = structuredContent as { projects: { id: string }[] };
  assert.deepEqual(
    projects.map(({ id }) => id),
    demo.projects.map(({ id }) => id),
  );
  process.stdout.write(`  ${name}: signed in, ${projects.length} projects\n`);
}

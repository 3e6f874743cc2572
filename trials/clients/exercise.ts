/** Exercises the named client like an assistant: lists tools, calls them, reads pages, causes errors, and connects without a token. */
import assert from 'node:assert/strict';
import { CLIENTS, type ToolResult } from './clients.ts';
import * as demo from './demo.ts';

const { MCP_URL: url, MCP_TOKEN: token } = process.env;
const connect = CLIENTS[process.argv[2] ?? ''];
const expectedProtocol = process.argv[3];
assert(url && token && connect, `usage: MCP_URL=URL MCP_TOKEN=TOKEN exercise.ts ${Object.keys(CLIENTS).join('|')} [PROTOCOL]`);

const client = await connect(url, { Authorization: `Bearer ${token}` });
assert.equal(client.protocol, expectedProtocol);
assert.deepEqual((await client.list()).toSorted(), ['get_call', 'list_calls', 'list_entities', 'list_projects']);

const { projects } = await callTool<{ projects: Row[] }>('list_projects', { scope: 'all' });
assert.deepEqual(idsOf(projects), idsOf(demo.projects));

const ids: string[] = [];
let cursor: string | null | undefined;
let pages = 0;
do {
  const page = await callTool<{ calls: Row[]; next_cursor: string | null }>('list_calls', {
    limit: 5,
    ...(cursor && { cursor }),
  });
  ids.push(...idsOf(page.calls));
  assert(ids.length <= demo.calls.length, 'paging has no end');
  cursor = page.next_cursor;
  pages += 1;
} while (cursor !== null);
assert.deepEqual(ids, idsOf(demo.calls));
assert.equal(pages, 3);

const call = await callTool<Record<string, unknown>>('get_call', { call_id: demo.call.id, include_transcript: true });
assert.deepEqual({ ...call, ...demo.call }, call);
assert(demo.turns.every((turn) => (call.transcript as string).includes(turn)));

const project = demo.entities[0]!.project_id;
const { entities } = await callTool<{ entities: (Row & { name: string })[] }>('list_entities', { project_id: project });
const recognized = demo.entities.filter((entity) => entity.project_id === project);
assert.deepEqual(namesOf(entities), namesOf(recognized));

const unknown = await client.call('get_call', { call_id: 'call_of_nobody' });
assert.equal(unknown.isError, true);
assert.equal(unknown.structuredContent, undefined);
assert.equal((parse(unknown) as { error: { code: string } }).error.code, 'not_found');
await client.close?.();

if (!client.signsIn) {
  const refused = connect(url, {}).then((unauthenticated) => unauthenticated.list());
  await assert.rejects(refused, (error: { code?: unknown; statusCode?: unknown; data?: { status?: unknown } }) =>
    [error.code, error.statusCode, error.data?.status].includes(401),
  );
}
process.stdout.write(
  `  ${client.protocol ? `${client.protocol}: ` : ''}4 tools, ${projects.length} projects, ${ids.length} calls on ${pages} pages, ` +
    `a call with ${demo.turns.length} turns, ${entities.length} entities, not_found${client.signsIn ? '' : ', 401'}\n`,
);

interface Row {
  id: string;
}

/** Returns the structured content of a result. Asserts that it is not an error and equals the text. */
async function callTool<T>(name: string, args: Record<string, unknown>): Promise<T> {
  const result = await client.call(name, args);
  assert(!result.isError, JSON.stringify(result.content));
  assert.deepEqual(parse(result), result.structuredContent);
  return result.structuredContent as T;
}

function parse({ content }: ToolResult): unknown {
  assert.equal(content.length, 1);
  return JSON.parse(content[0]!.text!);
}

function idsOf(rows: Row[]): string[] {
  return rows.map((row) => row.id);
}

function namesOf(rows: (Row & { name: string })[]): string[] {
  return rows.map((row) => `${row.id} ${row.name}`).toSorted();
}

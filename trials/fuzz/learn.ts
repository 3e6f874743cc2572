/** Collects tags of pages and cursors from answers, for later requests. */
import { toolCall } from '@crs/testing/mcp';
import { Connection } from './wire.ts';
import { bytesOf, type Credential } from './request.ts';
import { LEGACY, toolHeaders } from './tool-message.ts';
import { CALL_IDS, PROJECTS } from './records.ts';
import type { FuzzSystem } from './system.ts';

export interface Page {
  credential: Credential;
  template: string;
  target: string;
  tag: string;
}

export interface KnownCursor {
  credential: Credential;
  tool: string;
  /** The arguments of the call that answered with the cursor. */
  args: Record<string, unknown>;
  cursor: string;
}

const RANGE = 'start_date=2025-01-01T00:00:00Z&end_date=2026-01-01T00:00:00Z';
const PAGES = [
  ...CALL_IDS.slice(0, 5).map((id) => ['/calls/{call_id}', `/calls/${id}`]),
  ...[1, 2].map((page) => ['/calls', `/calls?${RANGE}&per_page=20&page=${page}`]),
  ['/billing-offices', '/billing-offices'],
  ['/projects/{project_id}', `/projects/${PROJECTS[0]}`],
  ['/openapi.json', '/openapi.json'],
] as [string, string][];

export async function learnPages({ api, keys }: FuzzSystem): Promise<Page[]> {
  const connection = new Connection(api);
  const pages: Page[] = [];
  for (const credential of keys.filter(({ isScarce }) => !isScarce)) {
    for (const [template, path] of PAGES) {
      const target = `/v1${path}`;
      const headers: [string, string][] = [
        ['Host', api],
        ['Authorization', credential.header!],
      ];
      const { status, headers: answered } = await connection.exchange(bytesOf({ method: 'GET', target, headers }), 'GET');
      if (status === 200) pages.push({ credential, template, target, tag: answered.get('etag')! });
    }
  }
  connection.close();
  return pages;
}

const LISTS: [tool: string, args: Record<string, unknown>][] = [
  ['list_projects', { scope: 'mine', include_archived: true }],
  ['list_projects', { scope: 'all' }],
  ['list_calls', {}],
  ['list_calls', { scope: 'all', date_after: '2025-01-01T00:00:00Z' }],
  ['list_calls', { scope: 'project', project_id: PROJECTS[1] }],
  ['list_calls', { scope: 'all', segment_contains: 'MARK' }],
  ['list_entities', { project_id: PROJECTS[0] }],
  ['list_entities', { project_id: PROJECTS[0], type: 'company' }],
];

export async function learnCursors({ tools, users }: FuzzSystem): Promise<KnownCursor[]> {
  const connection = new Connection(tools);
  const cursors: KnownCursor[] = [];
  for (const credential of users.filter(({ isScarce }) => !isScarce)) {
    for (const [tool, args] of LISTS) {
      const body = JSON.stringify(toolCall(tool, { ...args, limit: 1 }));
      const headers = toolHeaders(tools, credential.header, { version: LEGACY });
      const { json } = await connection.exchange(bytesOf({ method: 'POST', target: '/mcp', headers, body }), 'POST');
      const cursor = json?.result?.structuredContent?.next_cursor as string | null | undefined;
      if (typeof cursor === 'string') cursors.push({ credential, tool, args, cursor });
    }
  }
  connection.close();
  return cursors;
}

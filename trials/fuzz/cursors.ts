/** Collects cursors from responses for use in later requests. */
import { toolCall } from '@crs/testing/mcp';
import { sendRequest } from './wire.ts';
import type { Credential } from './request.ts';
import { LEGACY, toolHeaders } from './tool-message.ts';
import { PROJECTS } from './records.ts';
import type { FuzzSystem } from './system.ts';

export interface KnownCursor {
  credential: Credential;
  tool: string;
  /** The arguments of the call that returned the cursor. */
  args: Record<string, unknown>;
  cursor: string;
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
  const cursors: KnownCursor[] = [];
  for (const credential of users.filter(({ isScarce }) => !isScarce)) {
    for (const [tool, args] of LISTS) {
      const body = JSON.stringify(toolCall(tool, { ...args, limit: 1 }));
      const headers = toolHeaders(tools, credential.header, { version: LEGACY });
      const { json } = await sendRequest(tools, { method: 'POST', target: '/mcp', headers, body });
      const cursor = json?.result?.structuredContent?.next_cursor as string | null | undefined;
      if (typeof cursor === 'string') cursors.push({ credential, tool, args, cursor });
    }
  }
  return cursors;
}

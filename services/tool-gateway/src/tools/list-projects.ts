import { z } from 'zod';
import { argumentsOf, cursor, limit } from './arguments.ts';
import { PageCursors } from './cursor.ts';
import { nextCursor, nullableString, tool } from './tool.ts';

const input = argumentsOf({
  scope: z
    .enum(['mine', 'all'])
    .default('mine')
    .describe('mine: created or led by the user. all: also where the user is a member.'),
  include_archived: z.boolean().default(false).describe('Also archived projects.'),
  cursor,
  limit: limit(100, 25),
});

const project = z.object({
  id: z.string().describe('UUID; pass as project_id.'),
  name: nullableString,
  created_at: nullableString,
  is_archived: z.boolean().nullable().describe('Archived projects are hidden unless include_archived is true.'),
  role: nullableString.describe('lead, member, or null: created it, never added.'),
  sector: nullableString.describe('Reserved; always null.'),
  segments: z.array(z.string()).describe('Labels of its calls, for segment_contains.'),
  status: nullableString,
  summary: nullableString.describe('Scope of the research, in short.'),
});

const NAME = 'list_projects';

export const listProjects = tool({
  name: NAME,
  title: 'List projects',
  description:
    'Research projects of the user, newest first, with the segment names in use. Start here to learn project ids for list_calls and ' +
    'list_entities. By default only projects that the user created or leads: use scope "all" for the others, too.',
  scope: 'projects:read',
  input,
  output: z.object({ projects: z.array(project), next_cursor: nextCursor }),
  ids: ({ projects }) => projects.map(({ id }) => id),
  async run({ projects, calls, cursors }, args, call) {
    const mine = args.scope === 'mine';
    const filters = { mine, includeArchived: args.include_archived };
    const pages = new PageCursors(cursors, NAME, call, filters);
    const after = pages.read(args.cursor);
    const { projects: rows, next } = await projects.listUserProjects(
      { ...filters, after: after && { createdAt: after.at, projectId: after.id }, limit: args.limit },
      call,
    );
    const ids = rows.map((each) => each.projectId);
    const { projects: labels } = ids.length === 0 ? { projects: [] } : await calls.listProjectSegments({ projectIds: ids }, call);
    const segments = new Map(labels.map((each) => [each.projectId, each.segments]));
    return {
      projects: rows.map((each) => ({
        id: each.projectId,
        name: each.name ?? null,
        created_at: each.createdAt!.toISOString(),
        is_archived: each.isArchived,
        role: each.role ?? null,
        sector: null,
        segments: segments.get(each.projectId) ?? [],
        status: each.status ?? null,
        summary: each.summary ?? null,
      })),
      next_cursor: pages.make(next && { at: next.createdAt!, id: next.projectId }),
    };
  },
});

import { z } from 'zod';
import { freeText } from '@crs/records/import-record';
import { argumentsOf, cursor, limit, projectId } from './arguments.ts';
import { PageCursors } from './cursor.ts';
import { nextCursor, nullableString, tool } from './tool.ts';

const input = argumentsOf({
  project_id: projectId.describe('id from list_projects.'),
  type: freeText.optional().describe('Exact, such as company or product; absent: all.'),
  cursor,
  limit: limit(200, 50),
});

const entity = z.object({
  id: z.string().describe('UUID.'),
  name: nullableString,
  type: nullableString.describe('Such as company or product; usable as the filter type.'),
  category: nullableString,
  competitor_tier: nullableString,
  is_competitor: z.boolean().nullable(),
  description: nullableString,
  overview: nullableString,
  domain: nullableString.describe('Web domain, where resolved.'),
  created_at: nullableString.describe('When first recognized in the project.'),
});

const NAME = 'list_entities';

export const listEntities = tool({
  name: NAME,
  title: 'List entities',
  description: 'Companies, products and the like that were recognized in the calls of one project, newest first.',
  scope: 'entities:read',
  input,
  output: z.object({ entities: z.array(entity), next_cursor: nextCursor }),
  ids: ({ entities }) => entities.map(({ id }) => id),
  async run({ entities, cursors }, args, call) {
    const filters = { projectId: args.project_id, type: args.type };
    const pages = new PageCursors(cursors, NAME, call, filters);
    const after = pages.read(args.cursor);
    const { entities: rows, next } = await entities.listUserEntities(
      { ...filters, after: after && { createdAt: after.at, entityId: after.id }, limit: args.limit },
      call,
    );
    return {
      entities: rows.map((each) => ({
        id: each.entityId,
        name: each.name ?? null,
        type: each.type ?? null,
        category: each.category ?? null,
        competitor_tier: each.competitorTier ?? null,
        is_competitor: each.isCompetitor ?? null,
        description: each.description ?? null,
        overview: each.overview ?? null,
        domain: each.domain ?? null,
        created_at: each.createdAt!.toISOString(),
      })),
      next_cursor: pages.make(next && { at: next.createdAt!, id: next.entityId }),
    };
  },
});

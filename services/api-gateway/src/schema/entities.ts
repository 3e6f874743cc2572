import { z } from 'zod';
import { absentWithout, namedObject, nextCursor, nullableText, timestamp, uuid } from './common.ts';

export const entity = namedObject('Entity', 'A company, product or the like that was recognized in the calls of a project.', {
  entity_id: uuid('Identifies the entity.'),
  project_id: uuid('The project in whose calls it was recognized.'),
  name: nullableText('Null if not recorded.', 'Sundhavn Hospital Pharmacy'),
  type: nullableText('For example `company` or `product`. Null if not recorded.', 'company'),
  category: nullableText('Null if not recorded.'),
  competitor_tier: nullableText('How close a competitor is. Null if not recorded.'),
  is_competitor: z.boolean().nullable().describe('Whether it competes with the subject of the research. Null if unknown.'),
  description: nullableText(`What it is, in short. Null if not recorded. ${absentWithout('summary')}`).optional(),
  overview: nullableText(`What the calls say about it. Null if not recorded. ${absentWithout('summary')}`).optional(),
  domain: nullableText('Web domain. Null if unknown.', 'sundhavn.example'),
  created_at: timestamp('When it was first recognized in the project.'),
});

export const entityList = namedObject('EntityList', 'A page of entities.', {
  data: z.array(entity).describe('The entities of this page, newest first.'),
  next_cursor: nextCursor,
});

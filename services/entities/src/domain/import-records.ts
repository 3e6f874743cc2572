import { hash } from 'node:crypto';
import type { LineReader } from '@crs/records/import-batch';
import { timestamp, nullableText, organizationId, orNull, uuid } from '@crs/records/import-record';
import { notMerge, ofMerge, parseMergeable, type Merge } from '@crs/records/merge';
import { z } from 'zod';

const SHAPE = {
  type: z.literal('entity'),
  deleted: z.literal([false, null]).optional().describe('Not true: the line is a record, not a deletion.'),
  organization: organizationId,
  project_id: uuid.describe('The project in whose calls it was recognized.'),
  id: uuid.describe('Identifies the entity.'),
  name: nullableText.describe('Name of the entity.'),
  entity_type: nullableText.describe('Any text, such as `company`. The tools call it `type`.'),
  category: nullableText.describe('Any text.'),
  competitor_tier: nullableText.describe('How close a competitor is. Any text, such as `Tier 1`.'),
  is_competitor: orNull(z.boolean()).describe('Whether it competes with the subject of the research. Null: unknown.'),
  description: nullableText.describe('What it is, in short.'),
  overview: nullableText.describe('What the calls say about it.'),
  domain: nullableText.describe('Web domain.'),
  created_at: orNull(timestamp).describe('When it was first recognized. Absent: the stored time, or the time of this import.'),
};

const entity = z
  .strictObject({ ...SHAPE, merge: notMerge })
  .transform(({ type: _type, deleted: _deleted, merge: _merge, created_at, ...content }) => ({
    ...content,
    created_at,
    deleted: false as const,
    /** Computed here, because a long line is parsed in the worker thread. Excludes the creation time, which may not be known yet. */
    contentHash: hash('sha256', JSON.stringify(content), 'hex'),
  }));

const deletion = z
  .strictObject({ type: z.literal('entity'), deleted: z.literal(true), organization: organizationId, id: uuid })
  .transform(({ organization, id }) => ({ organization, id, deleted: true as const }));

/** A line of type `entity`: a whole record, or its deletion. */
export const entityLine = z.discriminatedUnion('deleted', [entity, deletion], 'must be true or false');

/** A line of type `entity` that changes properties of a stored entity. */
export const entityMerge = z.strictObject({ ...SHAPE, project_id: SHAPE.project_id.optional(), ...ofMerge });

export type EntityLine = z.output<typeof entityLine>;
export type EntityRecord = Extract<EntityLine, { deleted: false }>;

export const run: LineReader<EntityLine | Merge>['run'] = (json) =>
  parseMergeable({ whole: entityLine, merge: entityMerge }, json);
export const lineReader: LineReader<EntityLine | Merge> = { url: import.meta.url, run };

import { instant, nullableText, organizationId, orNull, uuid } from '@crs/kit/product/import-record';
import { z } from 'zod';

const entity = z
  .strictObject({
    type: z.literal('entity'),
    deleted: z.literal([false, null]).optional(),
    organization: organizationId,
    project_id: uuid,
    id: uuid,
    name: nullableText,
    entity_type: nullableText,
    category: nullableText,
    competitor_tier: nullableText,
    is_competitor: orNull(z.boolean()),
    description: nullableText,
    overview: nullableText,
    domain: nullableText,
    created_at: orNull(instant),
  })
  .transform(({ type: _type, deleted: _deleted, ...record }) => ({ ...record, deleted: false as const }));

const deletion = z
  .strictObject({ type: z.literal('entity'), deleted: z.literal(true), organization: organizationId, id: uuid })
  .transform(({ organization, id }) => ({ organization, id, deleted: true as const }));

/** A line of type `entity`: a whole record, or its deletion. */
export const entityLine = z.discriminatedUnion('deleted', [entity, deletion], 'must be true or false');

export type EntityLine = z.output<typeof entityLine>;
export type EntityRecord = Extract<EntityLine, { deleted: false }>;

import { z } from 'zod';

/** The schemas in `components/schemas` of the document. All others are inlined. */
export const components = z.registry<{ id: string }>();

/** Creates an object schema in `components/schemas`. */
export function namedObject<Shape extends z.ZodRawShape>(id: string, description: string, shape: Shape) {
  return z.strictObject(shape).describe(description).register(components, { id });
}

export function nullableText(description: string, example?: string) {
  return z
    .string()
    .nullable()
    .meta({ description, ...(example !== undefined && { examples: [example] }) });
}

/** Says when a field is absent. */
export const absentWithout = (field: string) => `Absent if \`${field}\` is not among the organization's \`allowed_fields\`.`;

export function callId(description: string) {
  return z
    .string()
    .min(1)
    .max(128)
    .meta({ description, examples: ['call_8kq2'] });
}

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

export function timestamp(description: string) {
  return z
    .string()
    .refine((text) => TIMESTAMP.test(text))
    .meta({
      description: `${description} RFC 3339, in UTC, to the millisecond.`,
      format: 'date-time',
      examples: ['2026-03-12T14:30:00.000Z'],
    });
}

export function uuid(description: string) {
  return z
    .string()
    .regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
    .meta({ description, format: 'uuid', examples: ['6f1d3c52-8a0e-4b57-9d1c-2e7f40a9b813'] });
}

/** Where a list with cursors goes on. */
export const nextCursor = z
  .string()
  .nullable()
  .meta({ description: 'Send it as `cursor` to get the next page. Opaque. Null on the last page.', examples: ['q83vEjRW'] });

export const pagination = namedObject('Pagination', 'The position of this page in the list.', {
  page: z
    .int32()
    .min(1)
    .meta({ description: 'The number of this page; the first is 1.', examples: [1] }),
  per_page: z
    .int32()
    .min(1)
    .max(200)
    .meta({ description: 'Calls on a full page.', examples: [50] }),
  total_items: z
    .int()
    .min(0)
    .meta({ description: 'The exact number of matching calls on all pages.', examples: [118] }),
  total_pages: z
    .int32()
    .min(1)
    .meta({ description: 'The number of pages; 1 if nothing matches. Read pages until `page` equals it.', examples: [3] }),
});

export const lineError = namedObject('LineError', 'Why a line was refused.', {
  line: z
    .int32()
    .min(1)
    .meta({ description: 'Position in the body; the first line is 1. Blank lines count.', examples: [3] }),
  field: z
    .string()
    .nullable()
    .meta({ description: 'The field at fault; null if it is the whole line.', examples: ['project_id'] }),
  reason: z.string().meta({ description: 'Continues a sentence that begins with the field.', examples: ['must be a UUID'] }),
});

export const errorEnvelope = namedObject('Error', 'The body of every response with a status of 400 or above.', {
  error: z
    .strictObject({
      code: z
        .enum(['bad_request', 'unauthorized', 'not_found', 'rate_limited', 'internal_error'])
        .describe('For programs. There are only these five codes; the status is more specific.'),
      message: z.string().describe('For people: what is wrong, and how to fix it. Its wording may change.'),
      request_id: z
        .string()
        .regex(/^[0-9a-f]{32}$/)
        .describe('The same as `X-Request-Id`. Log it, and quote it when you contact support.'),
      details: z
        .array(lineError)
        .optional()
        .describe('The refused lines of `POST /records` with `on_refusal=abort`. Otherwise absent.'),
    })
    .describe('Why the request failed.'),
});

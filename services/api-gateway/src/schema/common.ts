import { z } from 'zod';

/** The schemas under `components/schemas` of the document. All others are inlined where they are used. */
export const components = z.registry<{ id: string }>();

/** An object schema under `components/schemas`. */
export function namedObject<Shape extends z.ZodRawShape>(id: string, description: string, shape: Shape) {
  return z.strictObject(shape).describe(description).register(components, { id });
}

export function nullableText(description: string, example?: string) {
  return z
    .string()
    .nullable()
    .meta({ description, ...(example !== undefined && { examples: [example] }) });
}

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

export const pagination = namedObject('Pagination', 'Where in the list this page is.', {
  page: z
    .int32()
    .min(1)
    .meta({ description: 'The page of this answer; the first is 1.', examples: [1] }),
  per_page: z
    .int32()
    .min(1)
    .max(200)
    .meta({ description: 'Calls on a full page.', examples: [50] }),
  total_items: z
    .int()
    .min(0)
    .meta({ description: 'Calls that match, on all pages together. Exact.', examples: [118] }),
  total_pages: z
    .int32()
    .min(1)
    .meta({ description: 'At least 1, also where nothing matches: read until `page` equals it.', examples: [3] }),
});

export const errorEnvelope = namedObject('Error', 'The body of every answer of status 400 and above.', {
  error: z
    .strictObject({
      code: z
        .enum(['bad_request', 'unauthorized', 'not_found', 'rate_limited', 'internal_error'])
        .describe('For programs. The five codes are the whole list; the status says more.'),
      message: z.string().describe('For people: the fault, and how to mend it. Its wording may change.'),
      request_id: z
        .string()
        .regex(/^[0-9a-f]{32}$/)
        .describe('The same as `X-Request-Id`. Log it, and quote it when you ask for help.'),
    })
    .describe('Why the request was not served.'),
});

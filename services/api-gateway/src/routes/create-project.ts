import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Request } from 'express';
import { invalid, REASONS, ServiceError } from '@crs/kit/errors';
import { MAX_BODY_BYTES } from '@crs/kit/http/body';
import { closedObject, email, freeText, list, text } from '@crs/records/import-record';
import { lengthOf } from '@crs/kit/text';
import { readBody } from '../http/body.ts';
import { NO_PARAMETERS, parseQuery } from '../http/query.ts';
import { callOf, stateOf } from '@crs/kit/http/request';
import { sendJsonOnce } from '../http/send.ts';
import { NOT_ENABLED, requireWriteSurface } from '../http/write-surface.ts';
import { requestSchema } from '../openapi/json-schema.ts';
import type { Route } from '../route.ts';
import { NEW_PROJECT, PROJECT } from '../schema/examples.ts';
import { project as projectSchema } from '../schema/projects.ts';
import { renderProject } from './get-project.ts';

const MAX_NAME = 200;
const MAX_SUMMARY = 2_000;
const MAX_MEMBERS = 100;

const personEmail = freeText
  .transform((address) => address.trim())
  .pipe(email)
  .meta({ minLength: 3, maxLength: 254, pattern: String.raw`^\s*[^\s@]+@[^\s@]+\s*$` });

/** In optional fields, null means absent. `meta` describes to the OpenAPI document the rules that are code here. */
const body = closedObject({
  name: freeText
    .transform((name) => name.trim())
    .refine(
      (name) => name !== '' && lengthOf(name) <= MAX_NAME,
      `must have 1 to ${MAX_NAME} characters besides white space at its ends`,
    )
    .meta({
      description: 'Name of the project. White space at its ends is cut off, and does not count.',
      minLength: 1,
      maxLength: MAX_NAME,
      pattern: String.raw`\S`,
    }),
  lead_email: personEmail.describe('The e-mail address of the lead, in any case: a user of the organization.'),
  member_emails: list(personEmail, { most: MAX_MEMBERS })
    .meta({ items: requestSchema(personEmail), maxItems: MAX_MEMBERS })
    .nullish()
    .describe(
      'The e-mail addresses of the other members: users of the organization. The lead and repeated addresses are passed over.',
    ),
  billing_office_name: freeText
    .nullish()
    .describe(
      'The office that is billed: one of the names of `GET /billing-offices`, exactly. Absent: the default office, or none where there is none.',
    ),
  summary: text(0, MAX_SUMMARY).meta({ maxLength: MAX_SUMMARY }).nullish().describe('The scope of the research.'),
}).describe('A project to be created.');

const headers = z.object({
  'Idempotency-Key': z
    .string()
    .regex(/^[\x20-\x7e]{1,255}$/, 'must be 1 to 255 printable ASCII characters')
    .optional()
    .meta({
      description:
        'Makes it safe to send the request again: within 24 hours, the same key with the same body gets the answer of the first time. Any text that you use for this project alone, such as a UUID.',
      example: '2c1f0a52-5d0e-4c57-8a53-0f5c9f3f6f0e',
    }),
});

/** `POST /v1/projects` */
export const createProject: Route = {
  method: 'post',
  operationId: 'createProject',
  tag: 'Projects',
  summary: 'Create a project',
  description:
    'Creates a project with a lead and members, given by e-mail. Send an `Idempotency-Key`, so that you can send the request again where you did not get its answer. It needs a key that may write.',
  headers,
  body: {
    name: 'NewProject',
    description: 'The new project, in JSON of at most 64 KiB. A property that is not listed is refused.',
    schema: body,
    examples: {
      full: { summary: 'With all fields', value: NEW_PROJECT },
      minimal: { summary: 'With what is required', value: { name: NEW_PROJECT.name, lead_email: NEW_PROJECT.lead_email } },
    },
  },
  success: {
    status: 201,
    description: 'The project is created, or was created by an earlier request of the same `Idempotency-Key`.',
    schema: projectSchema,
    headers: ['Location', 'Idempotent-Replayed'],
    examples: { project: { summary: 'The new project', value: PROJECT } },
  },
  refusals: {
    400: {
      when: 'The body, a field, the `Idempotency-Key` or the query is not as described, or names a user or an office that the organization does not have; the message names the field.',
      message: 'lead_email: must be the e-mail of a user of this organization',
    },
    404: {
      when: 'The organization is not enabled for the write surface, or the key may only read; the message says which.',
      message: NOT_ENABLED,
    },
    409: {
      when: 'A request of the same `Idempotency-Key` is still being answered. Send it again after `Retry-After` seconds.',
      message: 'Idempotency-Key: a request with this key is being worked on; try again shortly',
    },
    413: { when: 'The body is larger than 64 KiB.', message: `The body is larger than ${MAX_BODY_BYTES} bytes.` },
    415: {
      when: 'The body is not JSON in UTF-8, or it is compressed.',
      message: 'The body must be JSON in UTF-8: send "Content-Type: application/json".',
    },
    422: {
      when: 'The `Idempotency-Key` was used for another body. Use another key.',
      message: 'Idempotency-Key: was used with another body in the last 24 hours; use a new key for a new project',
    },
  },
  async handle({ projects }, request, response) {
    requireWriteSurface(response, { writes: true });
    const fields = await readBody(request, response, body);
    parseQuery(request.url, NO_PARAMETERS);
    const clientKey = readIdempotencyKey(request);
    // A request without a key gets one, so that our own retries never create the project twice.
    const idempotencyKey = clientKey === undefined ? `gateway:${randomUUID()}` : `client:${clientKey}`;
    const { project, replayed } = await projects
      .createProject(
        {
          idempotencyKey,
          name: fields.name,
          leadEmail: fields.lead_email,
          memberEmails: fields.member_emails ?? [],
          billingOfficeName: fields.billing_office_name ?? undefined,
          summary: fields.summary ?? undefined,
        },
        callOf(response),
      )
      .catch((error: unknown) => {
        // The key in flight is ours: our own earlier attempt is still running. The client sent no key, so 409 would mislead it.
        if (clientKey === undefined && error instanceof ServiceError && error.reason === REASONS.idempotencyKeyInFlight) {
          throw new ServiceError('unavailable', 'The project service was interrupted.', { retryAfterSeconds: 1, cause: error });
        }
        throw error;
      });
    stateOf(response).logFields.project_id = project!.projectId;
    response.status(201).set('Location', `/v1/projects/${project!.projectId}`);
    if (replayed) response.set('Idempotent-Replayed', 'true');
    sendJsonOnce(request, response, [renderProject(project!)]);
  },
};

/** @throws ServiceError unless the header is absent, or given once as 1 to 255 printable ASCII characters */
function readIdempotencyKey(request: Request): string | undefined {
  const [key, ...more] = request.headersDistinct['idempotency-key'] ?? [];
  if (key === undefined) return undefined;
  if (more.length > 0) throw invalid('Idempotency-Key', 'must be given once');
  const checked = headers.safeParse({ 'Idempotency-Key': key });
  if (!checked.success) throw invalid('Idempotency-Key', checked.error.issues[0]!.message);
  return key;
}

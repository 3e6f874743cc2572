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
import { NOT_ENABLED } from '../http/key-access.ts';
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

/** In optional fields, null means absent. `meta` describes rules that are code here, for the OpenAPI document. */
const body = closedObject({
  name: freeText
    .transform((name) => name.trim())
    .refine(
      (name) => name !== '' && lengthOf(name) <= MAX_NAME,
      `must have 1 to ${MAX_NAME} characters besides white space at its ends`,
    )
    .meta({
      description: 'Name of the project. Leading and trailing white space is removed and does not count.',
      minLength: 1,
      maxLength: MAX_NAME,
      pattern: String.raw`\S`,
    }),
  lead_email: personEmail.describe('The e-mail address of the lead, case-insensitive. Must be a user of the organization.'),
  member_emails: list(personEmail, { most: MAX_MEMBERS })
    .meta({ items: requestSchema(personEmail), maxItems: MAX_MEMBERS })
    .nullish()
    .describe(
      'The e-mail addresses of the other members, who must be users of the organization. The lead and repeated addresses are ignored.',
    ),
  billing_office_name: freeText
    .nullish()
    .describe(
      'The office that is billed: exactly one of the names that `GET /billing-offices` returns. Default: the default office, if there is one.',
    ),
  summary: text(0, MAX_SUMMARY).meta({ maxLength: MAX_SUMMARY }).nullish().describe('The scope of the research.'),
}).describe('The project to create.');

const headers = z.object({
  'Idempotency-Key': z
    .string()
    .regex(/^[\x20-\x7e]{1,255}$/, 'must be 1 to 255 printable ASCII characters')
    .optional()
    .meta({
      description:
        'Makes it safe to retry the request: within 24 hours, a request with the same key and body gets the response of the first one. Any text that you use only for this project, such as a UUID.',
      example: '2c1f0a52-5d0e-4c57-8a53-0f5c9f3f6f0e',
    }),
});

/** `POST /v1/projects` */
export const createProject: Route = {
  method: 'post',
  access: { rights: ['write'], writeSurface: true },
  operationId: 'createProject',
  tag: 'Projects',
  summary: 'Create a project',
  description:
    'Creates a project with a lead and members, identified by e-mail. Send an `Idempotency-Key`, so that you can safely retry a request without a response. Needs a key with the right `write`.',
  headers,
  body: {
    name: 'NewProject',
    description: 'The new project, in at most 64 KiB of JSON. Unknown properties are refused.',
    schema: body,
    examples: {
      full: { summary: 'With all fields', value: NEW_PROJECT },
      minimal: { summary: 'With what is required', value: { name: NEW_PROJECT.name, lead_email: NEW_PROJECT.lead_email } },
    },
  },
  success: {
    status: 201,
    description: 'The project was created, now or by an earlier request with the same `Idempotency-Key`.',
    schema: projectSchema,
    headers: ['Location', 'Idempotent-Replayed'],
    examples: { project: { summary: 'The new project', value: PROJECT } },
  },
  refusals: {
    400: {
      when: 'The body, a field, the `Idempotency-Key` or the query is invalid, or a field names a user or an office that the organization does not have; the message names the field.',
      message: 'lead_email: must be the e-mail of a user of this organization',
    },
    404: {
      when: 'The organization is not enabled for the write surface, or the key does not have the right `write`; the message says which.',
      message: NOT_ENABLED,
    },
    409: {
      when: 'A request with the same `Idempotency-Key` is still in progress. Retry after `Retry-After` seconds.',
      message: 'Idempotency-Key: a request with this key is being worked on; try again shortly',
    },
    413: { when: 'The body is larger than 64 KiB.', message: `The body is larger than ${MAX_BODY_BYTES} bytes.` },
    415: {
      when: 'The body is not JSON in UTF-8, or it is compressed.',
      message: 'The body must be JSON in UTF-8: send "Content-Type: application/json".',
    },
    422: {
      when: 'The `Idempotency-Key` was used with another body. Use another key.',
      message: 'Idempotency-Key: was used with another body in the last 24 hours; use a new key for a new project',
    },
  },
  async handle({ projects }, request, response) {
    const fields = await readBody(request, response, body);
    parseQuery(request.url, NO_PARAMETERS);
    const clientKey = readIdempotencyKey(request);
    // Without a client's key, the gateway's key prevents its own retries from creating the project twice.
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
        // The gateway's own earlier attempt is still in progress. A 409 would confuse the client, which sent no key.
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

/** @throws ServiceError if the header is repeated, or isn't 1 to 255 printable ASCII characters */
function readIdempotencyKey(request: Request): string | undefined {
  const [key, ...more] = request.headersDistinct['idempotency-key'] ?? [];
  if (key === undefined) return undefined;
  if (more.length > 0) throw invalid('Idempotency-Key', 'must be given once');
  const checked = headers.safeParse({ 'Idempotency-Key': key });
  if (!checked.success) throw invalid('Idempotency-Key', checked.error.issues[0]!.message);
  return key;
}

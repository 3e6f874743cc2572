import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Request, Response } from 'express';
import { invalid, ServiceError } from '@crs/kit/errors';
import { email, freeText, list, text } from '@crs/kit/import-record';
import { lengthOf } from '@crs/kit/text';
import type { Context } from '../context.ts';
import { readBody } from '../http/body.ts';
import { parseQuery } from '../http/query.ts';
import { callOf } from '../http/request.ts';
import { requireWriteSurface } from '../http/write-surface.ts';
import { renderProject } from './project.ts';

const MAX_MEMBERS = 100;

const query = z.object({});

/** Optional fields may be null, which means absent. */
const body = z.strictObject({
  name: freeText.transform((name) => name.trim()).refine((name) => name !== '' && lengthOf(name) <= 200, 'must have 1 to 200 characters besides white space at its ends'),
  lead_email: trimmedEmail(),
  member_emails: list(trimmedEmail())
    .refine((emails) => emails.length <= MAX_MEMBERS, `must be at most ${MAX_MEMBERS}`)
    .nullish(),
  billing_office_name: freeText.nullish(),
  summary: text(0, 2_000).nullish(),
});

function trimmedEmail() {
  return freeText.transform((address) => address.trim()).pipe(email);
}

/** `POST /v1/projects` */
export function createProject({ projects }: Context) {
  return async (request: Request, response: Response): Promise<void> => {
    requireWriteSurface(response, { writes: true });
    const fields = await readBody(request, response, body);
    parseQuery(request.url, query);
    const given = readIdempotencyKey(request);
    // An unkeyed request gets a key of its own, so that inner retries never double it.
    const idempotencyKey = given === undefined ? `gateway:${randomUUID()}` : `client:${given}`;
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
        // Its own twin, left by an inner retry: nothing that the client can know of.
        if (given === undefined && error instanceof ServiceError && error.reason === 'IDEMPOTENCY_KEY_IN_FLIGHT') {
          throw new ServiceError('unavailable', 'The project service was interrupted.', { retryAfterSeconds: 1, cause: error });
        }
        throw error;
      });
    response.status(201).set({ Location: `/v1/projects/${project!.projectId}`, 'Content-Type': 'application/json; charset=utf-8' });
    if (replayed) response.set('Idempotent-Replayed', 'true');
    const bytes = renderProject(project!);
    response.set('Content-Length', String(bytes.length)).end(bytes);
  };
}

/** @throws ServiceError where it is there but not one of 1..255 printable ASCII characters, once */
function readIdempotencyKey(request: Request): string | undefined {
  const given = request.headersDistinct['idempotency-key'];
  if (given === undefined) return undefined;
  const [key] = given;
  if (given.length > 1) throw invalid('Idempotency-Key', 'must be given once');
  if (key === undefined || !/^[\x20-\x7e]{1,255}$/.test(key)) throw invalid('Idempotency-Key', 'must be 1 to 255 printable ASCII characters');
  return key;
}

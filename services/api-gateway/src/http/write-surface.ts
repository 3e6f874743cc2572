import type { Response } from 'express';
import { Refusal } from '@crs/kit/http/refusal';
import { authenticatedOf } from './authentication.ts';

export const NOT_ENABLED =
  'The organization is not enabled for the write surface (billing offices and projects). Ask the operator of this service to enable it.';

/**
 * The write surface is all endpoints of billing offices and projects, including those that only read. Checks that the organization is enabled for it
 * and, if the endpoint writes, that the request's API key isn't read-only.
 *
 * Refuses with 404, because the closed list of error codes has no "forbidden", and `unauthorized` would make clients replace a valid key.
 * @throws Refusal 404
 */
export function requireWriteSurface(response: Response, { writes }: { writes: boolean }): void {
  const { writeSurface, readOnly } = authenticatedOf(response)!.credential;
  if (!writeSurface) throw new Refusal(404, 'not_found', NOT_ENABLED);
  if (writes && readOnly) {
    throw new Refusal(404, 'not_found', "This API key may only read. Use one of your organization's keys that may write.");
  }
}

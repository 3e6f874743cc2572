import type { Response } from 'express';
import { Refusal } from '@crs/kit/http/refusal';
import { authenticatedOf } from './authentication.ts';

export const NOT_ENABLED =
  'The organization is not enabled for the write surface (billing offices and projects). Ask its operator to enable it.';

/**
 * Checks that the organization may use the project endpoints and, for a write, that its key may write. The refusal is a 404, because the closed list of
 * error codes has no "forbidden", and `unauthorized` would make clients replace a valid key.
 * @throws Refusal 404
 */
export function requireWriteSurface(response: Response, { writes }: { writes: boolean }): void {
  const { writeSurface, readOnly } = authenticatedOf(response)!.credential;
  if (!writeSurface) throw new Refusal(404, 'not_found', NOT_ENABLED);
  if (writes && readOnly) {
    throw new Refusal(404, 'not_found', 'This API key may only read. Use a key of the organization that may write.');
  }
}

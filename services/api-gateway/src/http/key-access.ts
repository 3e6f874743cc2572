import type { Response } from 'express';
import { Refusal } from '@crs/kit/http/refusal';
import type { KeyAccess } from '@crs/kit/rpc/admitted-callers';
import { authenticatedOf } from './authentication.ts';

export const NOT_ENABLED =
  'The organization is not enabled for the write surface (billing offices and projects). Ask the operator of this service to enable it.';

/**
 * Checks that the request's key has what an operation needs.
 *
 * Refuses with 404, because the closed list of error codes has no "forbidden", and `unauthorized` would make clients replace a valid key.
 * @throws Refusal 404
 */
export function requireAccess(response: Response, { rights: needed, writeSurface: needsWriteSurface }: KeyAccess): void {
  const { writeSurface, rights } = authenticatedOf(response)!.credential;
  if (needsWriteSurface && !writeSurface) throw new Refusal(404, 'not_found', NOT_ENABLED);
  if (!needed.some((right) => rights.includes(right))) throw new Refusal(404, 'not_found', missingRight(needed));
}

export function missingRight(rights: KeyAccess['rights']): string {
  return `This API key doesn't have the right "${rights.join('" or "')}". Use one of your organization's keys that has it.`;
}

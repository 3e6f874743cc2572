import type { ErasureTarget } from '@crs/proto/crs/auth/v1/auth';
import type { EraseRequest } from '@crs/proto/crs/erasures/v1/erasures';
import type { Connection } from './connection.ts';
import { retrying } from './retry.ts';

export type Target = NonNullable<ErasureTarget['target']>;

/**
 * Deletes an organization, a project or a user from every service. The first step hides it in auth, unless a legal hold keeps it; the last
 * step removes it there. Each step may be repeated, so running it again resumes an interrupted deletion.
 * @returns false if the target doesn't exist
 * @throws ServiceError failed_precondition, with the reason LEGAL_HOLD
 */
export async function erase(
  { auth, calls, erasers, operator }: Connection,
  organization: string,
  target: Target,
): Promise<boolean> {
  const { found, userId } = await calls.beginErasure({ target: { target }, check: false }, await operator(organization));
  if (!found) return false;
  const part: EraseRequest['target'] = target.$case === 'email' ? { $case: 'userId', value: userId } : target;
  for (const eraser of Object.values(erasers)) {
    await untilDone(async () => eraser.erase({ target: part }, await operator(organization)));
  }
  await untilDone(async () => auth.finishErasure({ target: { target } }, await operator(organization)));
  return true;
}

/** Repeats a call that works for some seconds. A service that restarted in between continues with what is left. */
async function untilDone(work: () => Promise<{ more: boolean }>): Promise<void> {
  const send = retrying(work);
  while ((await send(undefined)).more);
}

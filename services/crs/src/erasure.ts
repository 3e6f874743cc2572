import type { ErasureTarget } from '@crs/proto/crs/auth/v1/admin';
import type { EraseRequest } from '@crs/proto/crs/erasures/v1/erasures';
import type { Connection } from './connection.ts';

type Target = NonNullable<ErasureTarget['target']>;

/**
 * Deletes what spans services. From the first step on auth neither shows nor resolves it; the last removes it there. Each step may be
 * repeated, so an interrupted deletion is resumed by running it again.
 * @returns false where there is no such thing
 */
export async function erase({ auth, erasers, operator }: Connection, organization: string, target: Target): Promise<boolean> {
  const { found, userId } = await auth.beginErasure({ target: { target } }, await operator(organization));
  if (!found) return false;
  const part: EraseRequest['target'] = target.$case === 'email' ? { $case: 'userId', value: userId } : target;
  for (const eraser of Object.values(erasers)) await eraser.erase({ target: part }, await operator(organization));
  await auth.finishErasure({ target: { target } }, await operator(organization));
  return true;
}

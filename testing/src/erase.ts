import type { Connection } from '@crs/crs/connection';
import { erase as eraseByCrs } from '@crs/crs/erasure';

export type EraseTarget = Parameters<typeof eraseByCrs>[2];

/** The steps of a deletion in all services, in order. */
export const ERASURE_STEPS = ['begin', 'calls', 'entities', 'projects', 'finish'] as const;
export type ErasureStep = (typeof ERASURE_STEPS)[number];

/**
 * Deletes an organization, a project or a user from all services, as `crs` does. Calls `before` before each step; if it throws, the deletion is
 * interrupted. @returns false if the target doesn't exist
 */
export function erase(
  connection: Connection,
  organization: string,
  target: EraseTarget,
  before: (step: ErasureStep) => unknown = () => {},
): Promise<boolean> {
  const { auth, calls, erasers } = connection;
  type Eraser = (typeof erasers)['calls'];
  const watched = (step: 'entities' | 'calls' | 'projects'): Eraser => ({
    ...erasers[step],
    erase: async (request, options) => {
      await before(step);
      return erasers[step].erase(request, options);
    },
  });
  return eraseByCrs(
    {
      ...connection,
      calls: {
        ...calls,
        beginErasure: async (request, options) => {
          await before('begin');
          return calls.beginErasure(request, options);
        },
      },
      auth: {
        ...auth,
        finishErasure: async (request, options) => {
          await before('finish');
          return auth.finishErasure(request, options);
        },
      },
      erasers: { ...erasers, calls: watched('calls'), entities: watched('entities'), projects: watched('projects') },
    },
    organization,
    target,
  );
}

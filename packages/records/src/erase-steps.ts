import type { Statement } from '@crs/kit/data/database';
import type { Deleted } from '@crs/kit/data/delete-next';
import { countDeleted } from './count-deleted.ts';

/** Deletes some rows in its own transaction. @returns how many; 0 when the step is complete */
export type EraseStep = () => Promise<number>;

/** Shorter than callers' deadlines and than the grace period of a process. */
const WORK_MS = 5_000;

/** The lowest keys, for {@link inOrder}. */
export const FIRST_TEXT = '';
export const FIRST_UUID = '00000000-0000-0000-0000-000000000000';

/** Returns a function that runs steps for some seconds. It resolves to whether rows may be left, so that the caller calls again. */
export function eraser(): (steps: EraseStep[]) => Promise<boolean> {
  countDeleted('erasure', 0);
  return async (steps) => {
    const until = performance.now() + WORK_MS;
    for (const step of steps) {
      for (let rows = await step(); rows > 0; rows = await step()) {
        countDeleted('erasure', rows);
        if (performance.now() > until) return true;
      }
    }
    return false;
  };
}

/** A step that deletes an organization's rows in key order, by a statement of `deleteNext`. */
export function inOrder(
  first: string,
  statement: (from: string) => Statement<Deleted>,
  run: (statement: Statement<Deleted>) => Promise<Deleted[]>,
): EraseStep {
  let from = first;
  return async () => {
    const [deleted] = await run(statement(from));
    from = deleted!.last ?? from;
    return deleted!.rows;
  };
}

/** A step that completes in one transaction. */
export function once(work: () => Promise<unknown>): EraseStep {
  return async () => {
    await work();
    return 0;
  };
}

import type { Statement } from '@crs/kit/data/database';
import type { Deleted } from '@crs/kit/data/delete-next';
import { countDeleted } from './count-deleted.ts';

/** Deletes some rows in a transaction of its own. @returns how many; with 0 the next step comes */
export type Step = () => Promise<number>;

/** Shorter than the deadlines of callers, and than the time that a process has to end. */
const WORK_MS = 5_000;

/** The first value of a key, for {@link inOrder}. */
export const FIRST_TEXT = '';
export const FIRST_UUID = '00000000-0000-0000-0000-000000000000';

/** Erases in steps for some seconds. @returns whether something may be left, so that the caller asks again */
export function eraser(): (steps: Step[]) => Promise<boolean> {
  // A counter must start at zero, or a graph of increases would miss the first rows.
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

/** A step through the rows of an organization by a statement of `deleteNext`. */
export function inOrder(
  first: string,
  statement: (from: string) => Statement<Deleted>,
  run: (statement: Statement<Deleted>) => Promise<Deleted[]>,
): Step {
  let from = first;
  return async () => {
    const [deleted] = await run(statement(from));
    from = deleted!.last ?? from;
    return deleted!.rows;
  };
}

/** A step that is one piece of work. */
export function once(work: () => Promise<unknown>): Step {
  return async () => {
    await work();
    return 0;
  };
}

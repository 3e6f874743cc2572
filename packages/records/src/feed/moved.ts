import type { MovedRecord } from './feed.ts';

/** Collects the records that the segments of a batch change, for the batch's single entry of each in the feed. */
export class MovedRecords {
  readonly #moved = new Map<string, { deleted: boolean; isNew: boolean }>();

  /** @param stored whether the record is stored before this segment */
  change(recordId: string, stored: boolean): void {
    this.#moved.set(recordId, { deleted: false, isNew: this.#moved.get(recordId)?.isNew ?? !stored });
  }

  /** The deletion of a record that isn't stored before the batch is not a change. */
  delete(recordId: string): void {
    if (this.#moved.get(recordId)?.isNew) this.#moved.delete(recordId);
    else this.#moved.set(recordId, { deleted: true, isNew: false });
  }

  at(changedAt: Date): MovedRecord[] {
    return [...this.#moved].map(([recordId, { deleted }]) => ({ recordId, changedAt, deleted }));
  }
}

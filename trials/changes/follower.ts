/** A client of the change feed that keeps a copy of the records, for trials that compare the copy with the API. */
import { setTimeout as sleep } from 'node:timers/promises';

export const TYPES = ['call', 'project', 'entity'] as const;
export type RecordType = (typeof TYPES)[number];

/** The parameters of a follower's requests. */
export interface PageSize {
  limit: number;
  /** Whether to request details. Without them, the copy contains the times of changes. */
  details: boolean;
  /** The types of records to follow; calls alone by default. */
  types?: readonly RecordType[];
}

interface Change extends Partial<Record<RecordType, Record<string, unknown>>> {
  type: string;
  call_id?: string | null;
  project_id?: string;
  entity_id?: string;
  changed_at: string;
}

/** Returns the key of a record in a copy: the id of a call, otherwise the id after the type, because types may share ids. */
export const keyOf = (type: RecordType, id: string) => (type === 'call' ? id : `${type} ${id}`);

/** Keeps a copy of an organization's records by `GET /v1/changes`, and records each violation of the API's guarantees. Applies nothing but the changes that it receives. */
export class Follower {
  /** The JSON of each record's details, or without details the time of its last change, by key. */
  readonly copy = new Map<string, string>();
  readonly faults: string[] = [];
  pages = 0;
  readonly size: PageSize;
  readonly #send: (path: string) => Promise<Response>;
  readonly #times = new Map<string, string>();
  cursor: string | undefined;
  /** The names of the details' fields since the settings last changed, by type. */
  readonly #fields = new Map<RecordType, string>();
  #stopped = false;
  #following: Promise<void> | undefined;

  constructor(size: PageSize, send: (path: string) => Promise<Response>) {
    this.size = size;
    this.#send = send;
  }

  start(): void {
    this.#stopped = false;
    this.#following = (async () => {
      while (!this.#stopped) if (!(await this.#turn())) await sleep(50);
    })();
  }

  /** Reads all remaining changes, and stops. */
  async finish(): Promise<void> {
    this.#stopped = true;
    await this.#following;
    while (await this.#turn());
  }

  /** Reads a page, and retries until it succeeds. @returns whether more follow */
  async #turn(): Promise<boolean> {
    const { limit, details, types = ['call'] } = this.size;
    const query = `types=${types.join()}&limit=${limit}${details ? '&expand=detail' : ''}`;
    const path = `/v1/changes?${query}${this.cursor ? `&cursor=${this.cursor}` : ''}`;
    for (;;) {
      const response = await this.#send(path).catch(() => undefined);
      const text = await response?.text().catch(() => undefined);
      if (!response || text === undefined || response.status >= 500) {
        await sleep(50);
        continue;
      }
      if (response.status !== 200) {
        this.faults.push(`a cursor got ${response.status}: ${text}`);
        this.#stopped = true;
        return false;
      }
      const page = JSON.parse(text) as { data: Change[]; next_cursor: string; has_more: boolean };
      for (const change of page.data) this.#apply(change);
      this.cursor = page.next_cursor;
      this.pages++;
      return page.has_more;
    }
  }

  #apply(change: Change): void {
    const { type, changed_at: time } = change;
    if (type === 'access.changed') {
      this.#fields.clear();
      return;
    }
    const [name, kind] = type.split('.');
    const record = (this.size.types ?? ['call']).find((each) => each === name);
    const id = record && change[`${record}_id`];
    if (!record || !id || (kind !== 'changed' && kind !== 'deleted')) {
      this.faults.push(`a change of type ${type} of ${id}`);
      return;
    }
    const key = keyOf(record, id);
    const before = this.#times.get(key);
    if (before !== undefined && before > time) this.faults.push(`${key} went back from ${before} to ${time}`);
    this.#times.set(key, time);
    const details = change[record];
    if (kind === 'deleted') this.copy.delete(key);
    else this.copy.set(key, this.size.details ? JSON.stringify(details) : time);
    if (details) this.#compareFields(record, key, details);
  }

  /** Checks that all details between two changes of the settings have the same fields, because only the settings decide which fields a detail has. */
  #compareFields(record: RecordType, key: string, details: Record<string, unknown>): void {
    const fields = [...Object.keys(details), ...Object.keys(details['interviewee'] ?? {})].join();
    const others = this.#fields.get(record) ?? fields;
    this.#fields.set(record, others);
    if (others !== fields) this.faults.push(`${key} has the fields ${fields} among others with ${others}`);
  }

  /** Compares the copy with the details. @param details JSON of each record, by key @returns a sentence for each difference */
  compare(details: Map<string, string>): string[] {
    const { details: hasDetails } = this.size;
    const differences: string[] = [];
    for (const [id, detail] of details) {
      const copied = this.copy.get(id);
      // Only calls have a time of their last change.
      const expected = hasDetails ? detail : ((JSON.parse(detail) as { updated_at?: string }).updated_at ?? copied);
      if (copied === undefined) differences.push(`${id} is missing`);
      else if (copied !== expected) differences.push(`${id} is ${copied.slice(0, 300)} in place of ${expected!.slice(0, 300)}`);
    }
    for (const id of this.copy.keys()) if (!details.has(id)) differences.push(`${id} was deleted`);
    return differences;
  }
}

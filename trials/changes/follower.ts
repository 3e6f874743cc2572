/** A client of the change feed that keeps a copy of the calls, for trials that compare the copy with the API. */
import { setTimeout as sleep } from 'node:timers/promises';

/** The parameters of a follower's requests. */
export interface PageSize {
  limit: number;
  /** Whether to request details. Without them, the copy contains the times of changes. */
  details: boolean;
}

interface Change {
  type: string;
  call_id: string | null;
  changed_at: string;
  call?: Record<string, unknown>;
}

/** Keeps a copy of an organization's calls by `GET /v1/changes`, and records each violation of the API's guarantees. Applies nothing but the changes that it receives. */
export class Follower {
  /** The JSON of each call's details, or without details the time of its last change, by id. */
  readonly copy = new Map<string, string>();
  readonly faults: string[] = [];
  pages = 0;
  readonly size: PageSize;
  readonly #send: (path: string) => Promise<Response>;
  readonly #times = new Map<string, string>();
  cursor: string | undefined;
  /** The names of the details' fields since the settings last changed. */
  #fields: string | undefined;
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
    const { limit, details } = this.size;
    const path = `/v1/changes?limit=${limit}${details ? '&expand=detail' : ''}${this.cursor ? `&cursor=${this.cursor}` : ''}`;
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

  #apply({ type, call_id: id, changed_at: time, call }: Change): void {
    if (type === 'access.changed') {
      this.#fields = undefined;
      return;
    }
    if (id === null || !['call.changed', 'call.deleted'].includes(type)) {
      this.faults.push(`a change of type ${type} of ${id}`);
      return;
    }
    const before = this.#times.get(id);
    if (before !== undefined && before > time) this.faults.push(`${id} went back from ${before} to ${time}`);
    this.#times.set(id, time);
    if (type === 'call.deleted') this.copy.delete(id);
    else this.copy.set(id, this.size.details ? JSON.stringify(call) : time);
    if (call) this.#compareFields(id, call);
  }

  /** Checks that all details between two changes of the settings have the same fields, because only the settings decide which fields a detail has. */
  #compareFields(id: string, call: Record<string, unknown>): void {
    const fields = [...Object.keys(call), ...Object.keys(call['interviewee'] as object)].join();
    this.#fields ??= fields;
    if (this.#fields !== fields) this.faults.push(`${id} has the fields ${fields} among others with ${this.#fields}`);
  }

  /** Compares the copy with the details. @param details JSON of each call, by id @returns a sentence for each difference */
  compare(details: Map<string, string>): string[] {
    const { details: hasDetails } = this.size;
    const differences: string[] = [];
    for (const [id, detail] of details) {
      const expected = hasDetails ? detail : (JSON.parse(detail) as { updated_at: string }).updated_at;
      const copied = this.copy.get(id);
      if (copied === undefined) differences.push(`${id} is missing`);
      else if (copied !== expected) differences.push(`${id} is ${copied.slice(0, 300)} in place of ${expected.slice(0, 300)}`);
    }
    for (const id of this.copy.keys()) if (!details.has(id)) differences.push(`${id} was deleted`);
    return differences;
  }
}

import type { Database } from '@crs/kit/data/database';
import { directoryScope, workFor } from '@crs/kit/data/scope';
import type { Context } from '../context.ts';
import { wake, type Moved } from '../store/due.ts';

const STATEMENT_MS = 5_000;
/** How often everything is compared, for what a poll of the latest changes missed. */
const ALL_EVERY_MS = 60_000;

/** Lists what moved lately, or everything. */
type ListMoved = (all: boolean, signal: AbortSignal) => Promise<Omit<Moved, 'isNew'>[]>;

/**
 * Polls what moved for all organizations, and makes the endpoints of those due that haven't heard of it. Remembers what it has seen, so that a poll without
 * news needs no statement.
 */
export class Watch {
  readonly #db: Database;
  readonly #what: Parameters<typeof wake>[0];
  readonly #list: ListMoved;
  readonly #now: () => Date;
  #seen = new Map<string, number>();
  #comparedAllAt = -Infinity;

  constructor({ db, now }: Pick<Context, 'db' | 'now'>, what: Parameters<typeof wake>[0], list: ListMoved) {
    this.#db = db;
    this.#what = what;
    this.#list = list;
    this.#now = now;
  }

  /** @returns whether an endpoint became due */
  async poll(signal: AbortSignal): Promise<boolean> {
    const startedAt = performance.now();
    const all = startedAt - this.#comparedAllAt > ALL_EVERY_MS;
    const found = await this.#list(all, signal);
    // After a full comparison, endpoints that were created since the one before are compared as well.
    const compared = found.map((each) => ({ ...each, isNew: this.#seen.get(each.organization) !== each.value }));
    const moved = all ? compared : compared.filter(({ isNew }) => isNew);
    const woken =
      moved.length === 0 ? [] : await this.#db.run(directoryScope(workFor(STATEMENT_MS)), wake(this.#what, moved, this.#now()));
    if (all) {
      this.#seen = new Map();
      this.#comparedAllAt = startedAt;
    }
    for (const { organization, value } of found) this.#seen.set(organization, value);
    return woken.length > 0;
  }
}

/** @param waitMs how long a poll may wait for a feed that moves */
export function watchFeeds(context: Context, waitMs: number): Watch {
  const { heads, tokens } = context;
  return new Watch(context, 'feed_position', async (all, signal) => {
    const response = await heads.listFeedHeads({ all, waitMs }, { ...(await tokens.ofNone()), signal });
    return response.heads.map(({ organizationId, position }) => ({ organization: organizationId, value: position }));
  });
}

export function watchSettings(context: Context): Watch {
  const { auth, tokens } = context;
  return new Watch(context, 'settings_version', async (all, signal) => {
    const { versions } = await auth.listSettingsVersions({ all }, { ...(await tokens.ofNone()), signal });
    return versions.map(({ organizationId, version }) => ({ organization: organizationId, value: version }));
  });
}

import { randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Database, Scope } from '@crs/kit/database';

/** The secrets under which interviewees' names are anonymized, made on first use. They never change, so they are remembered. */
export class NameSecrets {
  readonly #db: Database;
  readonly #known = new LRUCache<string, Buffer>({ max: 10_000 });

  constructor(db: Database) {
    this.#db = db;
  }

  async of(scope: Scope): Promise<Buffer> {
    const known = this.#known.get(scope.organization);
    if (known) return known;
    const secret = await this.#db.transact(scope, async (query) => {
      await query({
        name: 'insert_name_secret',
        text: 'insert into calls.name_secrets (organization, secret) values ($1, $2) on conflict do nothing',
        values: [scope.organization, randomBytes(32)],
      });
      const [row] = await query<{ secret: Buffer }>({
        name: 'find_name_secret',
        text: 'select secret from calls.name_secrets where organization = $1',
        values: [scope.organization],
      });
      return row!.secret;
    });
    this.#known.set(scope.organization, secret);
    return secret;
  }
}

import { randomBytes } from 'node:crypto';
import type { Database } from '@crs/kit/data/database';
import type { Scope } from '@crs/kit/data/scope';

/**
 * The secret under which an organization's interviewees are anonymized, made where there is none. Read with each call rather than
 * remembered: one that outlived its organization in a process would give the next of that id other names there than elsewhere.
 */
export function ensureNameSecret(db: Database, scope: Scope): Promise<Buffer> {
  return db.transact(scope, async (query) => {
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
}

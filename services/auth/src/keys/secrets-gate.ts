import { waitForDatabase, type Obstacle } from '@crs/kit/data/schema-gate';
import { everyOrganizationScope, workFor } from '@crs/kit/data/scope';
import type { Closer } from '@crs/kit/process/lifecycle';
import type { Logger } from '@crs/kit/process/log';
import type { Context } from '../context.ts';
import { countSealed, SEALED_TABLES, sealedUnder, type SealedTable } from '../store/sealed.ts';

/** All values of a table are counted, and sign-in state may be large. */
const COUNT_MS = 30_000;
/** The number of values of each table and secret that must open. All values of a secret open, or none does. */
const SAMPLES = 5;

/**
 * Resolves once CRS_SECRET has every secret under which values in the database are sealed. Until then the service isn't ready, and the log says which
 * secret is missing.
 * @throws Error if the service is stopped meanwhile
 */
export async function secretsFit(
  { db, secrets, seals, rings }: Pick<Context, 'db' | 'secrets' | 'seals' | 'rings'>,
  log: Logger,
  closer: Closer,
): Promise<void> {
  const ids = new Set(secrets.map(({ id }) => id));
  const ask = async (signal: AbortSignal): Promise<Obstacle | undefined> => {
    for (const table of SEALED_TABLES) {
      const scope = () => everyOrganizationScope({ ...workFor(COUNT_MS), signal });
      for (const { secretId, count } of await db.read(scope(), countSealed(table))) {
        if (!ids.has(secretId)) return { reason: missing(secretId, count, table) };
        const samples = await db.read(scope(), sealedUnder(table, secretId, SAMPLES));
        if (!samples.every((each) => opens(() => seals[table].open(each.sealed, each.row))))
          return { reason: wrong(secretId, table) };
      }
    }
    // The first replica makes the first keys here, so that a replica with other secrets finds keys that it can't open.
    for (const ring of Object.values(rings)) await ring.keys();
    return undefined;
  };
  await waitForDatabase('the right CRS_SECRET', ask, log, closer);
}

function opens(open: () => unknown): boolean {
  try {
    open();
    return true;
  } catch {
    return false;
  }
}

function missing(id: string, count: number, table: SealedTable): string {
  return (
    `CRS_SECRET has no secret with the id "${id}", under which ${count} values of auth.${table} are sealed: ` +
    'put that secret back at the end of the list, run "crs secret reseal", and take it away afterwards.'
  );
}

function wrong(id: string, table: SealedTable): string {
  return `CRS_SECRET doesn't fit the database: its secret with the id "${id}" doesn't open a value of auth.${table}. Add the secret that the value was sealed under.`;
}

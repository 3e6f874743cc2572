import type { Encrypter } from '@crs/kit/data/encrypter';
import { waitForDatabase, type Obstacle } from '@crs/kit/data/schema-readiness';
import { everyOrganizationScope, workFor } from '@crs/kit/data/scope';
import type { Shutdown } from '@crs/kit/process/lifecycle';
import type { Logger } from '@crs/kit/process/log';
import type { Context } from '../context.ts';
import { countEncrypted, ENCRYPTED_TABLES, encryptedUnder } from '../store/encrypted-values.ts';

/** Long enough to count all rows of sign-in state. */
const COUNT_MS = 30_000;
/** The number of values to decrypt for each table and secret. A few are enough: a wrong secret decrypts none. */
const SAMPLES = 5;

/**
 * Resolves once CRS_SECRET has every secret that values in the database are encrypted under. Until then the service isn't ready, and the log
 * names the missing secret.
 * @throws Error if the service is stopped meanwhile
 */
export async function waitForSecrets(
  { db, secrets, encrypters, rings }: Pick<Context, 'db' | 'secrets' | 'encrypters' | 'rings'>,
  log: Logger,
  shutdown: Shutdown,
): Promise<void> {
  const ids = new Set(secrets.map(({ id }) => id));
  const findObstacle = async (signal: AbortSignal): Promise<Obstacle | undefined> => {
    for (const table of ENCRYPTED_TABLES) {
      const scope = () => everyOrganizationScope({ ...workFor(COUNT_MS), signal });
      for (const { secretId, count } of await db.read(scope(), countEncrypted(table))) {
        if (!ids.has(secretId)) {
          const found = `CRS_SECRET has no secret with the id "${secretId}", under which ${count} values of auth.${table} are sealed`;
          const action = 'put that secret back at the end of the list, run "crs secret reseal", and take it away afterwards';
          return { reason: `${found}: ${action}.` };
        }
        const samples = await db.read(scope(), encryptedUnder(table, secretId, SAMPLES));
        if (!samples.every(({ encrypted, row }) => canDecrypt(encrypters[table], encrypted, row))) {
          const found = `its secret with the id "${secretId}" doesn't open a value of auth.${table}`;
          return { reason: `CRS_SECRET doesn't fit the database: ${found}. Add the secret that the value was sealed under.` };
        }
      }
    }
    // The first replica creates the first keys here, so that a replica with other secrets fails here too.
    for (const ring of Object.values(rings)) await ring.keys();
    return undefined;
  };
  await waitForDatabase('the right CRS_SECRET', findObstacle, log, shutdown);
}

function canDecrypt(encrypter: Encrypter, encrypted: Buffer, row: string): boolean {
  try {
    encrypter.decrypt(encrypted, row);
    return true;
  } catch {
    return false;
  }
}

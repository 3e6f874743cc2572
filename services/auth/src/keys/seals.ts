import { Seal } from '@crs/kit/data/seal';
import type { Secrets } from '@crs/kit/process/secrets';
import type { SealedRow, SealedTable } from '../store/sealed.ts';

/** The seals of stored values, by the table that holds them. */
export type Seals = Record<SealedTable, Seal>;

export function createSeals(secrets: Secrets): Seals {
  return {
    token_keys: new Seal(secrets, 'token-keys'),
    caller_keys: new Seal(secrets, 'caller-keys'),
    oidc_payloads: new Seal(secrets, 'oidc-payloads'),
    clients: new Seal(secrets, 'client-secrets'),
    organizations: new Seal(secrets, 'oidc-client-secrets'),
  };
}

/** @throws Error if CRS_SECRET doesn't have the secret, or the value is of another row */
export function openRow(seals: Seals, table: SealedTable, { row, sealed }: SealedRow): Buffer {
  return seals[table].open(sealed, row);
}

/** Seals the value of a row under the first secret, bound to the row. */
export function sealRow(seals: Seals, table: SealedTable, row: string, plain: Buffer): Buffer {
  return seals[table].seal(plain, row);
}

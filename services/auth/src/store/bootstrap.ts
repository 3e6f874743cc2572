import { adminConnection, type AdminDatabase } from '@crs/kit/data/connection';
import { Client } from 'pg';

/**
 * Stores the first operator, whose credential was made outside: nobody could create that operator by an RPC. Runs as the migration role.
 * Changes nothing where a live operator has the name, or any operator the credential.
 */
export async function ensureOperator(admin: AdminDatabase, name: string, digest: Buffer): Promise<void> {
  const client = new Client(adminConnection(admin));
  await client.connect();
  try {
    await client.query('insert into auth.operators (name, digest) values ($1, $2) on conflict do nothing', [name, digest]);
  } finally {
    await client.end();
  }
}

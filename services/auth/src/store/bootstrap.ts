import { Client } from 'pg';

/**
 * Makes sure that a credential which was made outside is a live operator's, as the first one must be. Runs as the migration role, and
 * changes nothing where the credential or the name is known already.
 */
export async function ensureOperator(adminUrl: string, name: string, digest: Buffer): Promise<void> {
  const client = new Client({ connectionString: adminUrl });
  await client.connect();
  try {
    await client.query('insert into auth.operators (name, digest) values ($1, $2) on conflict do nothing', [name, digest]);
  } finally {
    await client.end();
  }
}

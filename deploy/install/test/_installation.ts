import { createLogger } from '@crs/kit/process/log';
import { createDatabase, startTestPostgres, type TestDatabase, type TestPostgres } from '@crs/testing/postgres';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { install } from '../src/install.ts';
import { kubernetesSecrets } from '../src/kubernetes.ts';
import { startCluster, type FakeCluster } from './_cluster.ts';

export const METADATA = {
  labels: { 'app.kubernetes.io/part-of': 'call-research' },
  annotations: { 'example.com/owner': 'research' },
};
export const log = createLogger('test', { level: 'silent' });

/** Where a test installs. Each test gets a new database and a new cluster. */
interface Target {
  postgres: TestPostgres;
  database: TestDatabase;
  cluster: FakeCluster;
  run(adminUrl?: string, serviceUrl?: string): Promise<void>;
  /** Returns the fields of a Secret. */
  secret(name: string): Record<string, string>;
}

/**
 * Gives each test of a file an empty database and an empty cluster. Each file has its own PostgreSQL server, because
 * an installation changes the passwords of roles, which all databases of a server share.
 */
export function emptyTarget(): Target {
  const target = {
    run: (adminUrl = target.database.url, serviceUrl?: string) =>
      install({ adminUrl, serviceUrl }, kubernetesSecrets(target.cluster.cluster, 'crs', METADATA), log),
    secret: (name) => target.cluster.secrets.get(`crs-${name}`)!.stringData,
  } as Target;
  beforeAll(async () => {
    target.postgres = await startTestPostgres();
  });
  afterAll(() => target.postgres?.stop());
  beforeEach(async () => {
    [target.database, target.cluster] = await Promise.all([createDatabase(target.postgres.url), startCluster()]);
  });
  afterEach(async () => {
    await target.cluster.stop();
    await target.database.drop();
  });
  return target;
}

export async function query<Row>(connectionString: string, statement: string, values: unknown[] = []): Promise<Row[]> {
  const client = new Client({ connectionString });
  await client.connect();
  try {
    return (await client.query(statement, values)).rows as Row[];
  } finally {
    await client.end();
  }
}

// postgres.slow.test.ts starts and kills this process. It starts PostgreSQL in the given directory, prints url, pid and cluster as JSON, and keeps running.
import { createLogger } from '@crs/kit/process/log';
import { startPostgres } from '../src/postgres.ts';

const { url, pid, cluster } = await startPostgres({
  dataDir: process.argv[2]!,
  locale: 'C',
  fsync: true,
  log: createLogger('supervise'),
});
process.stdout.write(`${JSON.stringify({ url, pid, cluster })}\n`);

// A supervising process for postgres.test.ts to kill: starts PostgreSQL on the directory in its arguments, says what it has, and stays.
import { createLogger } from '@crs/kit/process/log';
import { startPostgres } from '../src/postgres.ts';

const { url, pid, cluster } = await startPostgres({
  dataDir: process.argv[2]!,
  locale: 'C',
  fsync: true,
  log: createLogger('supervise'),
});
process.stdout.write(`${JSON.stringify({ url, pid, cluster })}\n`);

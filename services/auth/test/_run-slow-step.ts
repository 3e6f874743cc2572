// A process whose migration takes a minute, for `migration-kill.slow.test.ts` to kill: `node _run-slow-step.ts URL`.
import { migrate } from '@crs/kit/data/migrate';
import { migrations } from '../migrations/index.ts';

const slow = {
  name: '29990101T000000-take-a-minute',
  up: async (db: { raw(statement: string): Promise<unknown> }) => void (await db.raw('select pg_sleep(60)')),
  down: async () => {},
};
await migrate({ adminUrl: process.argv[2]!, service: 'auth', migrations: [...migrations, slow] });

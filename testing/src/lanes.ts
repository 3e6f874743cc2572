import { connect, type Connection } from '@crs/crs/connection';
import { inject } from 'vitest';
import { loader, type TryLoad } from './load.ts';
import { createDatabase } from './postgres.ts';
import { startProcesses, type Processes } from './processes.ts';
import { startRedis } from './redis.ts';
import { OPERATOR_CREDENTIAL, SECRET } from './setup.ts';

/** One process of each service. They only call each other, never a process of another lane. */
export interface Lane extends Processes {
  /** The operator's connection to the admin listeners of this lane. */
  operator: Connection;
  tryLoad: TryLoad;
}

/** Starts two lanes on one database and one Redis, to test that changes made in one lane take effect in the other. */
export async function startLanes(): Promise<{ lanes: [Lane, Lane]; close: () => Promise<void> }> {
  const database = await createDatabase(inject('postgresUrl'), inject('template'));
  const redis = await startRedis();
  const start = async (): Promise<Lane> => {
    // High, because tests send more requests with a revoked credential than the default limit of an address allows.
    const environment = { CRS_ADDRESS_RATE_LIMIT: '1000000/60' };
    const processes = await startProcesses({ databaseUrl: database.url, secret: SECRET, redisUrl: redis?.url, environment });
    const operator = connect({ addresses: processes.admin, credential: OPERATOR_CREDENTIAL });
    return { ...processes, operator, tryLoad: loader(operator) };
  };
  const lanes = await Promise.all([start(), start()]);
  return {
    lanes,
    close: async () => {
      for (const { operator } of lanes) operator.close();
      await Promise.all(lanes.map((lane) => lane.stop()));
      await redis?.stop();
      await database.drop();
    },
  };
}

/** Two instances of the whole system on one database, for tests of what instances share. */
import { connect, type Connection } from '@crs/crs/connection';
import { inject } from 'vitest';
import { loader, type TryLoad } from './load.ts';
import { createDatabase } from './postgres.ts';
import { startProcesses, type Processes } from './processes.ts';
import { startRedis } from './redis.ts';
import { OPERATOR_CREDENTIAL, SECRET } from './setup.ts';
import { startServices, type World } from './world.ts';

/**
 * One instance of each service. They call each other, and no instance of the other lane. Tests use two lanes on one database to check that
 * each instance sees what was changed through another one.
 */
export interface Lane {
  /** Origin of the REST API. */
  api: string;
  /** `host:port` of the tools. */
  tools: string;
  /** The operator's connection to the admin listeners of this lane. */
  operator: Connection;
  tryLoad: TryLoad;
}

/** A system as the first lane, and a second one in this process. */
export async function addLane(world: World): Promise<{ lanes: [Lane, Lane]; close: () => Promise<void> }> {
  const { stop, ...second } = await startServices(world.databaseUrl, []);
  return { lanes: [laneOf(world), laneOf(second)], close: stop };
}

function laneOf({ stack: { addresses }, operator }: Pick<World, 'stack' | 'operator'>): Lane {
  return { api: `http://${addresses.api}`, tools: addresses.tools, operator, tryLoad: loader(operator) };
}

/** Two lanes of processes, on one database and one Redis. */
interface Lanes {
  lanes: [Lane & Processes, Lane & Processes];
  /** A connection to the database as superuser. */
  databaseUrl: string;
  close: () => Promise<void>;
}

/** @param more added to the environment of every process */
export async function startLanes(more: Record<string, string> = {}): Promise<Lanes> {
  const database = await createDatabase(inject('postgresUrl'), inject('template'));
  const redis = await startRedis();
  const start = async () => {
    // Tests send more requests from one address than the default limits allow.
    const environment = { CRS_ADDRESS_RATE_LIMIT: '1000000/60', CRS_SIGN_IN_RATE_LIMIT: '1000000/60', ...more };
    const processes = await startProcesses({ databaseUrl: database.url, secret: SECRET, redisUrl: redis?.url, environment });
    const operator = connect({ addresses: processes.admin, credential: OPERATOR_CREDENTIAL });
    return { ...processes, operator, tryLoad: loader(operator) };
  };
  const lanes = await Promise.all([start(), start()]);
  return {
    lanes,
    databaseUrl: database.url,
    close: async () => {
      for (const { operator } of lanes) operator.close();
      await Promise.all(lanes.map((lane) => lane.stop()));
      await redis?.stop();
      await database.drop();
    },
  };
}

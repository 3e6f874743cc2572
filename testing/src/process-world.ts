import { connect, type Connection } from '@crs/crs/connection';
import { inject } from 'vitest';
import { loader, type TryLoad } from './load.ts';
import { createDatabase } from './postgres.ts';
import { startProcesses, type Processes, type ProcessesConfig } from './processes.ts';
import { OPERATOR_CREDENTIAL, SECRET } from './setup.ts';
import { openSession, type Session } from './sql.ts';

/** The system as processes that tests can kill, on a database of its own. */
export interface ProcessWorld {
  processes: Processes;
  databaseUrl: string;
  /** As superuser, whom row-level security doesn't bind. */
  database: Session;
  /** The operator's connection to the admin listeners. */
  operator: Connection;
  tryLoad: TryLoad;
  close(): Promise<void>;
}

export async function startProcessWorld(services?: ProcessesConfig['services']): Promise<ProcessWorld> {
  const created = await createDatabase(inject('postgresUrl'), inject('template'));
  const processes = await startProcesses({ databaseUrl: created.url, secret: SECRET, services });
  const operator = connect({ addresses: processes.admin, credential: OPERATOR_CREDENTIAL });
  const database = await openSession(created.url);
  return {
    processes,
    databaseUrl: created.url,
    database,
    operator,
    tryLoad: loader(operator),
    close: async () => {
      operator.close();
      await processes.stop();
      await database.close();
      await created.drop();
    },
  };
}

/** What followers of the feed have of an organization: copies by both clients in SQLite and PostgreSQL, and a warehouse by dlt in DuckDB. */
import { join } from 'node:path';
import { openSession } from '@crs/testing/sql';
import { copyIn } from '../../clients/scenarios/src/copy.ts';
import { act, PROGRAMS } from '../../clients/scenarios/src/programs.ts';

type Documents = Map<string, unknown>;

/** A follower of one organization's feed. */
export interface Follower {
  name: string;
  /** Follows the feed to its end. @returns the calls that it then has, by id */
  sync: () => Promise<Documents>;
}

export interface Source {
  organization: string;
  baseUrl: string;
  key: string;
}

/** @param directory for files @param databaseUrl of a server, on which a database is created for each copy in PostgreSQL */
export async function followersOf(source: Source, directory: string, databaseUrl: string): Promise<Follower[]> {
  const followers: Follower[] = [];
  for (const [language, { runner }] of Object.entries(PROGRAMS)) {
    const name = `${source.organization}_${language}`;
    const url = await createDatabase(databaseUrl, name);
    followers.push(follower(`SQLite by the ${language} client`, runner, source, `sqlite:${join(directory, `${name}.db`)}`));
    followers.push(follower(`PostgreSQL by the ${language} client`, runner, source, url));
  }
  const load = PROGRAMS['python']?.['load'];
  return load ? [...followers, warehouse(load, source, directory)] : followers;
}

async function createDatabase(databaseUrl: string, name: string): Promise<string> {
  const session = await openSession(databaseUrl);
  await session.query(`create database ${name}`);
  await session.close();
  const url = new URL(databaseUrl);
  url.pathname = `/${name}`;
  return url.href;
}

function follower(name: string, command: string[], { baseUrl, key }: Source, address: string): Follower {
  const copy = copyIn(address);
  const request = { action: 'sync', base_url: baseUrl, key, store: address };
  return {
    name,
    sync: async () => {
      const { error } = await act(command, request);
      if (error) throw new Error(`${name}: ${error.message}`);
      const documents = await copy.documents();
      return new Map([...documents].map(([id, text]) => [id, JSON.parse(text) as unknown]));
    },
  };
}

function warehouse(command: string[], { organization, baseUrl, key }: Source, directory: string): Follower {
  // DuckDB takes the name of the file for a catalog, which must not be that of the dataset.
  const database = join(directory, `warehouse-${organization}.duckdb`);
  const request = { base_url: baseUrl, key, database, dataset: organization, directory: join(directory, 'dlt') };
  return {
    name: 'DuckDB by dlt',
    sync: async () => {
      const { result } = await act(command, request);
      return new Map(Object.entries((result as { calls: object }).calls));
    },
  };
}

/** The PostgreSQL server of the recovery trial. */
import { execFileSync } from 'node:child_process';
import { appendFile, chmod, chown, cp, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLogger } from '@crs/kit/process/log';
import { findPostgres } from '@crs/local/postgres-binaries';
import { openCluster } from '@crs/local/postgres-cluster';
import { startServer, type Server } from '@crs/local/postgres-server';
import pg from 'pg';

/** A WAL segment is archived after this time, even if it isn't full. */
export const ARCHIVE_TIMEOUT_S = 5;
const log = createLogger('postgres', { level: 'silent' });
const NOT_IN_A_BACKUP = /\/(pg_wal\/.+|postmaster\.(pid|opts))$/;

/** A PostgreSQL server that archives its WAL, and can be backed up, lost and restored. Each start uses another port. */
export class ArchivingServer {
  readonly #home: string;
  readonly #archive: string;
  readonly #backup: string;
  readonly #binaries = findPostgres(log);
  #directory = '';
  #password = '';
  #server: Server | undefined;

  constructor(home: string) {
    this.#home = home;
    this.#archive = join(home, 'archive');
    this.#backup = join(home, 'backup');
  }

  get url(): string {
    return `postgres://postgres:${this.#password}@127.0.0.1:${this.#server!.port}/postgres`;
  }

  async create(): Promise<void> {
    await mkdir(this.#archive);
    await chmod(this.#home, 0o711);
    const { uid, gid } = this.#binaries.account;
    if (uid !== undefined && gid !== undefined) await chown(this.#archive, uid, gid);
    const cluster = await openCluster({ ...this.#binaries, home: this.#home, locale: 'C', fsync: false, log });
    this.#directory = cluster.directory;
    this.#password = cluster.password;
    await this.#run({});
  }

  async query<Row extends object>(text: string): Promise<Row[]> {
    return this.#withClient(async (client) => (await client.query<Row>(text)).rows);
  }

  /** Copies the running server's data, as `pg_basebackup` does. */
  async backUp(): Promise<void> {
    await rm(this.#backup, { recursive: true, force: true });
    await this.#withClient(async (client) => {
      await client.query(`select pg_backup_start('trial', true)`);
      const filter = (path: string) => !NOT_IN_A_BACKUP.test(path);
      await cp(this.#directory, this.#backup, { recursive: true, verbatimSymlinks: true, filter });
      const { rows } = await client.query<{ labelfile: string }>('select labelfile from pg_backup_stop()');
      await writeFile(join(this.#backup, 'backup_label'), rows[0]!.labelfile);
    });
  }

  /** Waits until all WAL so far is in the archive. */
  async archived(): Promise<void> {
    const [last] = await this.query<{ file: string }>('select pg_walfile_name(pg_switch_wal()) as file');
    const query = `select last_archived_wal >= '${last!.file}' as done from pg_stat_archiver`;
    while (!(await this.query<{ done: boolean }>(query))[0]!.done) await sleep(50);
  }

  /** Kills the server and deletes its data. The archive and the base backup remain. */
  async lose(): Promise<void> {
    process.kill(this.#server!.pid, 'SIGKILL');
    await this.#server!.stop();
    await rm(this.#directory, { recursive: true });
  }

  /** Starts a server from the base backup and the archive. @param target settings with the recovery target */
  async restore(target: Record<string, string>): Promise<void> {
    await cp(this.#backup, this.#directory, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
    await appendFile(join(this.#directory, 'recovery.signal'), '');
    const { uid, gid } = this.#binaries.account;
    // The files that root copied belong to root, but PostgreSQL runs under another account.
    if (uid !== undefined) execFileSync('chown', ['-R', `${uid}:${gid}`, this.#directory]);
    await chmod(this.#directory, 0o700);
    await this.#run({ restore_command: `cp ${this.#archive}/%f %p`, recovery_target_action: 'promote', ...target });
    while ((await this.query<{ recovers: boolean }>('select pg_is_in_recovery() as recovers'))[0]!.recovers) await sleep(20);
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
  }

  async #run(settings: Record<string, string>): Promise<void> {
    this.#server = await startServer({
      ...this.#binaries,
      directory: this.#directory,
      settings: {
        max_connections: '200',
        timezone: 'UTC',
        archive_mode: 'on',
        archive_timeout: `${ARCHIVE_TIMEOUT_S}s`,
        archive_command: `cp %p ${this.#archive}/%f.part && mv ${this.#archive}/%f.part ${this.#archive}/%f`,
        ...settings,
      },
      logFile: join(this.#home, 'log'),
      log,
    });
  }

  async #withClient<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    const client = new pg.Client({ connectionString: this.url });
    await client.connect();
    try {
      return await work(client);
    } finally {
      await client.end();
    }
  }
}

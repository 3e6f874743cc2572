import { appendFile, chmod, chown, cp, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createLogger } from '@crs/kit/process/log';
import { findPostgres, type PostgresBinaries } from '@crs/local/postgres-binaries';
import { openCluster } from '@crs/local/postgres-cluster';
import { startServer, type Server } from '@crs/local/postgres-server';
import { freePorts } from '@crs/testing/ports';
import pg from 'pg';

const log = createLogger('postgres', { level: 'silent' });
const WHAT_A_COPY_LEAVES_OUT = /\/(pg_wal\/.+|postmaster\.(pid|opts))$/;

/** A PostgreSQL that archives its WAL, with a base backup. */
export class Node {
  readonly #home: string;
  readonly #binaries: PostgresBinaries;
  readonly #settings: Record<string, string>;
  readonly #port: number;
  #server: Server | undefined;

  private constructor(home: string, binaries: PostgresBinaries, settings: Record<string, string>, port: number) {
    this.#home = home;
    this.#binaries = binaries;
    this.#port = port;
    this.#settings = {
      ...settings,
      wal_level: 'logical',
      max_connections: '200',
      timezone: 'UTC',
      archive_mode: 'on',
      archive_command: `cp %p ${this.#archive}/%f.part && mv ${this.#archive}/%f.part ${this.#archive}/%f`,
    };
  }

  /** @param build the directory of another PostgreSQL than the project's, with \`bin\` */
  static async start(home: string, settings: Record<string, string>, build?: string): Promise<Node> {
    const found = findPostgres(log);
    const binaries = build === undefined ? found : { ...found, bin: join(build, 'bin') };
    const [port] = await freePorts(1);
    const node = new Node(home, binaries, settings, port);
    for (const directory of [home, node.#archive]) {
      await mkdir(directory, { recursive: true });
      await chmod(directory, 0o711);
    }
    const { uid, gid } = binaries.account;
    if (uid !== undefined && gid !== undefined) await chown(node.#archive, uid, gid);
    await openCluster({ ...binaries, home, locale: 'C', fsync: false, log });
    await writeFile(join(node.#data, 'pg_hba.conf'), 'host all all 127.0.0.1/32 trust\n');
    await node.#run({});
    return node;
  }

  get #data() {
    return join(this.#home, 'cluster');
  }
  get #archive() {
    return join(this.#home, 'archive');
  }
  get #backup() {
    return join(this.#home, 'backup');
  }
  get url() {
    return `postgres://postgres@127.0.0.1:${this.#port}/postgres`;
  }
  get port() {
    return this.#port;
  }

  async query<Row extends object = Record<string, unknown>>(text: string): Promise<Row[]> {
    const client = new pg.Client({ connectionString: this.url });
    await client.connect();
    try {
      return (await client.query<Row>(text)).rows;
    } finally {
      await client.end();
    }
  }

  /** Copies the running server, as `pg_basebackup` and operators do. */
  async backUp(): Promise<void> {
    const client = new pg.Client({ connectionString: this.url });
    await client.connect();
    await client.query(`select pg_backup_start('trial', true)`);
    await cp(this.#data, this.#backup, {
      recursive: true,
      verbatimSymlinks: true,
      filter: (path) => !WHAT_A_COPY_LEAVES_OUT.test(path),
    });
    const { rows } = await client.query<{ labelfile: string }>('select labelfile from pg_backup_stop()');
    await client.end();
    await writeFile(join(this.#backup, 'backup_label'), rows[0].labelfile);
  }

  /** Ends the server by force, and deletes its data. The archive and the base backup are left. */
  async lose(): Promise<void> {
    process.kill(this.#server!.pid, 'SIGKILL');
    await this.#server!.stop();
    await rm(this.#data, { recursive: true });
  }

  /** Starts a server from the base backup and the archive. @param target settings that say how far to go */
  async restore(target: Record<string, string>): Promise<void> {
    await cp(this.#backup, this.#data, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
    await appendFile(join(this.#data, 'recovery.signal'), '');
    await this.#own();
    await this.#run({ restore_command: `cp ${this.#archive}/%f %p`, recovery_target_action: 'promote', ...target });
    while ((await this.query<{ r: boolean }>('select pg_is_in_recovery() as r'))[0].r)
      await new Promise((done) => setTimeout(done, 20));
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
  }

  async #run(more: Record<string, string>): Promise<void> {
    const logFile = join(this.#home, 'log');
    const settings = { ...this.#settings, ...more };
    this.#server = await startServer({ ...this.#binaries, directory: this.#data, settings, logFile, log, port: this.#port });
  }

  /** A copy by root belongs to root. */
  async #own(): Promise<void> {
    const { uid, gid } = this.#binaries.account;
    if (uid === undefined || gid === undefined) return;
    const { spawnSync } = await import('node:child_process');
    spawnSync('chown', ['-R', `${uid}:${gid}`, this.#data]);
    spawnSync('chmod', ['700', this.#data]);
  }
}

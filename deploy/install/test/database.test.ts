import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '@crs/testing/ports';
import { describe, expect, it } from 'vitest';
import { waitForDatabase } from '../src/database.ts';
import { Failure } from '../src/failure.ts';
import { install } from '../src/install.ts';
import { kubernetesSecrets } from '../src/kubernetes.ts';
import { emptyTarget, log, METADATA, query } from './_installation.ts';

const target = emptyTarget();

describe('the database', () => {
  it('is retried until it accepts connections', async () => {
    const { hostname, port } = new URL(target.database.url);
    let connections = 0;
    // Closes the first connection, like a server that is still starting.
    const server = createServer((near) => {
      near.on('error', () => {});
      if (++connections === 1) return void near.destroy();
      const far = connect(Number(port), hostname).on('error', () => {});
      near.pipe(far).pipe(near);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const proxied = new URL(target.database.url);
    proxied.port = String((server.address() as AddressInfo).port);
    await target.run(proxied.href);
    expect(connections).toBeGreaterThan(1);
    expect(target.cluster.secrets.size).toBe(7);
    server.close();
  });

  it('is named in the error, with the reason, if it stays unreachable or rejects the login', async () => {
    const [port] = await freePorts(1);
    const errorOf = (adminUrl: string) => waitForDatabase({ adminUrl }, 1).catch((error: Error) => error);
    const unreachable = await errorOf(`postgres://admin:secret@127.0.0.1:${port}/research`);
    expect(unreachable).toBeInstanceOf(Failure);
    expect((unreachable as Error).message).toBe(
      `The database can't be reached by MIGRATE_DATABASE_URL (127.0.0.1:${port}): ECONNREFUSED.`,
    );
    const url = new URL(target.database.url);
    url.password = 'wrong';
    expect((await errorOf(url.href)) as Error).toMatchObject({
      message: expect.stringContaining('refuses this role or password'),
    });
    url.href = target.database.url;
    url.pathname = '/nowhere';
    expect((await errorOf(url.href)) as Error).toMatchObject({ message: expect.stringContaining('no database of this name') });
  });

  it('gets the password from a file that is read again for each connection', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'crs-test-'));
    const adminPasswordFile = join(folder, 'token');
    const url = new URL(target.database.url);
    [url.username, url.password] = ['tokens', ''];
    const store = kubernetesSecrets(target.cluster.cluster, 'crs', METADATA);
    const rotate = async (token: string) => {
      await query(target.postgres.url, `alter role tokens password '${token}'`);
      await writeFile(adminPasswordFile, `${token}\n`);
    };
    const installed = (betweenConnections = async () => {}) => {
      const read = async (name: string) => {
        await betweenConnections();
        return store.read(name);
      };
      return install({ adminUrl: url.href, adminPasswordFile }, { ...store, read }, log);
    };
    await query(target.postgres.url, 'create role tokens login superuser');
    try {
      await rotate('first');
      let rotated: Promise<void> | undefined;
      await installed(() => (rotated ??= rotate('second')));
      expect(rotated).toBeDefined();
      expect(target.secret('calls')['DATABASE_URL']).toMatch(/^postgres:\/\/crs_calls:[\w-]{43}@/);
      expect(await query(target.secret('calls')['DATABASE_URL']!, 'select 1 as one')).toEqual([{ one: 1 }]);
      await writeFile(adminPasswordFile, 'first');
      await expect(installed()).rejects.toThrow('it refuses this role or password');
    } finally {
      await query(target.database.url, 'reassign owned by tokens to current_user; drop owned by tokens');
      await query(target.postgres.url, 'drop role tokens');
      await rm(folder, { recursive: true });
    }
  });

  it('can be prepared by a role that is not a superuser, as on a managed service', async () => {
    for (const name of ['auth', 'calls', 'projects', 'entities', 'webhooks', 'owner'])
      await query(target.postgres.url, `drop role if exists crs_${name}`);
    await query(target.postgres.url, `create role managed login createrole password 'managed'`);
    await query(target.postgres.url, `create role feeble login password 'feeble'`);
    const as = (role: string) => {
      const url = new URL(target.database.url);
      url.username = url.password = role;
      return url.href;
    };
    await expect(target.run(as('feeble'))).rejects.toThrow(
      `The role of MIGRATE_DATABASE_URL lacks rights for a migration (permission denied to create role): ` +
        'it needs CREATEROLE, and CREATE on the database, or membership in crs_owner once that exists.',
    );
    await expect(target.run(as('managed'))).rejects.toThrow(`permission denied for database ${target.database.name}`);
    await query(target.postgres.url, `grant create on database ${target.database.name} to managed`);
    await target.run(as('managed'));
    await target.run(as('managed'));
    expect(await query(target.secret('calls')['DATABASE_URL']!, 'select current_user as role')).toEqual([{ role: 'crs_calls' }]);
  });
});

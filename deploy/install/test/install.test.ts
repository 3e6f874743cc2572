import { digestOf } from '@crs/kit/api-key';
import { derivePassword, roleOf } from '@crs/kit/data/migration';
import { createDatabase } from '@crs/testing/postgres';
import { ensureRoles } from '@crs/kit/data/roles';
import { SECRET } from '@crs/testing/setup';
import { describe, expect, it } from 'vitest';
import { Failure } from '../src/failure.ts';
import { install } from '../src/install.ts';
import { kubernetesSecrets } from '../src/kubernetes.ts';
import { prepareDatabase } from '../src/prepare-database.ts';
import { beginRelease } from '../src/releases.ts';
import { startCluster } from './_cluster.ts';
import { emptyTarget, log, METADATA, query } from './_installation.ts';

const target = emptyTarget();

describe('an installation', () => {
  it('creates the Secrets by which services connect under their own roles, and an operator in auth', async () => {
    await target.run();
    expect([...target.cluster.secrets.keys()].toSorted()).toEqual(
      ['auth', 'calls', 'entities', 'operator', 'projects', 'tool-gateway', 'webhooks'].map((name) => `crs-${name}`),
    );
    for (const { type, metadata } of target.cluster.secrets.values()) {
      expect([type, metadata.labels]).toEqual(['Opaque', METADATA.labels]);
      expect(metadata.annotations).toMatchObject({
        ...METADATA.annotations,
        'argocd.argoproj.io/sync-options': 'Prune=false,Delete=false',
      });
    }
    for (const service of ['auth', 'calls', 'projects', 'entities', 'webhooks']) {
      const statement = `select current_user as role, count(*)::int > 0 as migrated from ${service}.migrations`;
      expect(await query(target.secret(service)['DATABASE_URL']!, statement)).toEqual([
        { role: `crs_${service}`, migrated: true },
      ]);
    }
    const secrets = [target.secret('auth')['CRS_SECRET']!, target.secret('tool-gateway')['CRS_SECRET']!];
    for (const each of secrets) expect(each).toMatch(/^k1:[\w-]{43}$/);
    expect(secrets[0]).not.toBe(secrets[1]);
    const operator = JSON.parse(target.secret('operator')['operator.json']!);
    expect(operator).toEqual({
      name: expect.stringMatching(/^install-[0-9a-f]{8}$/),
      credential: expect.stringMatching(/^cro_/),
    });
    const operators = await query(target.database.url, 'select name from auth.operators where digest = $1', [
      digestOf(operator.credential),
    ]);
    expect(operators).toEqual([{ name: operator.name }]);
    const program = digestOf(target.secret('webhooks')['CRS_PROGRAM_CREDENTIAL']!);
    expect(await query(target.database.url, 'select name from auth.programs where digest = $1', [program])).toEqual([
      { name: 'webhooks' },
    ]);
  });

  it('changes no secret when it runs again, and resets roles to the passwords in their secrets', async () => {
    await target.run();
    const before = JSON.stringify([...target.cluster.secrets]);
    await query(target.postgres.url, `alter role crs_calls password 'another'`);
    await target.run();
    expect(JSON.stringify([...target.cluster.secrets])).toBe(before);
    expect(await query(target.secret('calls')['DATABASE_URL']!, 'select 1 as one')).toEqual([{ one: 1 }]);
    expect(await query(target.database.url, 'select count(*)::int from auth.operators')).toEqual([{ count: 1 }]);
  });

  it('gives the same result when it runs several times at once', async () => {
    await Promise.all([target.run(), target.run(), target.run()]);
    for (const service of ['auth', 'calls', 'projects', 'entities', 'webhooks']) {
      expect(await query(target.secret(service)['DATABASE_URL']!, 'select 1 as one')).toEqual([{ one: 1 }]);
    }
    expect(await query(target.database.url, 'select count(*)::int from auth.operators')).toEqual([{ count: 1 }]);
  });

  it('keeps existing secrets, and writes the database address for services into new ones', async () => {
    const manifest = (name: string, stringData: Record<string, string>) =>
      target.cluster.secrets.set(`crs-${name}`, {
        apiVersion: 'v1',
        kind: 'Secret',
        type: 'Opaque',
        metadata: { name, labels: {} },
        stringData,
      });
    const own = new URL(target.database.url);
    [own.username, own.password] = ['crs_calls', 'p@ss/word of our own'];
    manifest('calls', { DATABASE_URL: own.href });
    await target.run(`${target.database.url}?user=postgres`, 'postgres://pooler.example:6432/research?sslmode=verify-full');
    expect(await query(own.href, 'select current_user as role')).toEqual([{ role: 'crs_calls' }]);
    expect(target.secret('auth')['DATABASE_URL']).toMatch(
      /^postgres:\/\/crs_auth:[\w-]{43}@pooler\.example:6432\/research\?sslmode=verify-full$/,
    );
  });

  it('puts the schema of a service on a separate server', async () => {
    const own = await createDatabase(target.postgres.url);
    try {
      const apart = { calls: { adminUrl: own.url }, entities: undefined };
      await install({ adminUrl: target.database.url, apart }, kubernetesSecrets(target.cluster.cluster, 'crs', METADATA), log);
      const schemas = `select nspname as name from pg_namespace
        where nspname in ('auth', 'calls', 'entities', 'install', 'projects', 'webhooks') order by 1`;
      const names = async (url: string) => (await query<{ name: string }>(url, schemas)).map(({ name }) => name);
      expect(await names(own.url)).toEqual(['calls']);
      expect(await names(target.database.url)).toEqual(['auth', 'entities', 'install', 'projects', 'webhooks']);
      const ofCalls = 'select current_database() as name, count(*)::int > 0 as migrated from calls.migrations';
      expect(await query(target.secret('calls')['DATABASE_URL']!, ofCalls)).toEqual([{ name: own.name, migrated: true }]);
      expect(new URL(target.secret('projects')['DATABASE_URL']!).pathname).toBe(`/${target.database.name}`);
    } finally {
      await own.drop();
    }
  });

  it('fails if another installation uses the server, and does not change its roles', async () => {
    await target.run();
    const [other, second] = await Promise.all([startCluster(), createDatabase(target.postgres.url)]);
    try {
      await expect(install({ adminUrl: second.url }, kubernetesSecrets(other.cluster, 'crs', METADATA), log)).rejects.toThrow(
        `The role crs_auth has rights in the database ${target.database.name} of ${new URL(second.url).host}, so another installation may use it. ` +
          'Give each installation a server of its own, or drop that database.',
      );
      expect(other.secrets.size).toBe(0);
      expect(await query(target.secret('auth')['DATABASE_URL']!, 'select 1 as one')).toEqual([{ one: 1 }]);
      // The same installation may move to another database, for example a restored one: it has the passwords of the roles.
      await target.run(second.url);
    } finally {
      await other.stop();
      await second.drop();
    }
  });

  it('fails with the name of an unusable Secret', async () => {
    const put = (name: string, stringData: Record<string, string>) =>
      target.cluster.secrets.set(`crs-${name}`, {
        apiVersion: 'v1',
        kind: 'Secret',
        type: 'Opaque',
        metadata: { name, labels: {} },
        stringData,
      });
    put('auth', { DATABASE_URL: target.database.url });
    await expect(target.run()).rejects.toThrow('the Secret crs-auth has no CRS_SECRET.');
    put('auth', { DATABASE_URL: target.database.url, CRS_SECRET: 'x'.repeat(40) });
    await expect(target.run()).rejects.toThrow(
      'DATABASE_URL in the Secret crs-auth must be a URL for the role crs_auth or crs_auth_b.',
    );
    put('auth', { DATABASE_URL: target.database.url, CRS_SECRET: `a:${'x'.repeat(40)},a:${'y'.repeat(40)}` });
    await expect(target.run()).rejects.toThrow('CRS_SECRET in the Secret crs-auth names the id "a" twice');
  });
});

describe('a version', () => {
  const prepare = (version: string) =>
    prepareDatabase({
      adminUrl: target.database.url,
      loginOf: (service) => ({ role: roleOf(service), password: derivePassword(SECRET, service) }),
      operator: { name: 'first', credential: 'cro_first' },
      webhooksCredential: 'first',
      version,
    });
  const schemas = () => query(target.database.url, `select nspname from pg_namespace where nspname in ('auth', 'calls')`);

  it('is installed only one minor version above or below the current one', async () => {
    for (const version of ['0.1.0', '0.2.3', '0.1.4', '0.2.0', '0.3.0']) await prepare(version);
    await expect(prepare('0.5.0')).rejects.toThrow(
      "Version 0.5.0 can't follow 0.3.0, because upgrades go one minor version at a time. " +
        'Install the newest 0.4.x first, wait until its pods have replaced all others, then install 0.5.0.',
    );
    await expect(prepare('0.1.0')).rejects.toThrow(
      "Version 0.1.0 can't run on this database, whose schema is that of 0.3.0: only 0.3 and the minor version before it can. " +
        'Install one of these, or restore the backup from before the upgrade.',
    );
  });

  it('changes nothing if it is refused', async () => {
    await ensureRoles({ adminUrl: target.database.url }, []);
    await beginRelease({ adminUrl: target.database.url }, '9.9.9');
    const failed = await target.run().catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(Failure);
    expect((failed as Error).message).toMatch(/can't run on this database, whose schema is that of 9\.9\.9/);
    expect(await schemas()).toEqual([]);
  });

  it('counts as current only once its installation has finished', async () => {
    await prepare('0.1.0');
    await query(target.postgres.url, 'alter role crs_calls superuser');
    await expect(prepare('0.2.0')).rejects.toThrow('Row-level security does not hold for the role crs_calls');
    await query(target.postgres.url, 'alter role crs_calls nosuperuser');
    await expect(prepare('0.3.0')).rejects.toThrow("can't follow 0.1.0");
    await prepare('0.2.0');
  });
});

describe('the Kubernetes API', () => {
  it('is retried while it is busy', async () => {
    target.cluster.failures.push(503, 429);
    const secrets = kubernetesSecrets(target.cluster.cluster, 'crs', METADATA);
    expect(await secrets.create('calls', { DATABASE_URL: 'x' })).toBe(true);
    expect(target.cluster.failures).toEqual([]);
    expect(target.secret('calls')).toEqual({ DATABASE_URL: 'x' });
  });

  it.each(['get', 'create'] as const)('leads to a message about the Role if it forbids %s', async (verb) => {
    target.cluster.allowed.delete(verb);
    await expect(target.run()).rejects.toThrow(
      `Kubernetes did not ${verb} the Secret crs-auth: secrets is forbidden: User "installer" cannot ${verb} resource "secrets" (status 403). ` +
        'The Role of the ServiceAccount must allow that.',
    );
  });

  it('leads to a message with the reason of an admission webhook, which is not about the Role', async () => {
    const reason = 'admission webhook "policies.example.com" denied the request: Secrets need the label owner';
    target.cluster.denied = reason;
    await expect(target.run()).rejects.toThrow(
      new RegExp(`^Kubernetes did not create the Secret crs-auth: ${reason} \\(status 403\\)\\.$`),
    );
  });
});

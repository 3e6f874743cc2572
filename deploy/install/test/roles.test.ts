import { expect, it } from 'vitest';
import { install } from '../src/install.ts';
import { kubernetesSecrets } from '../src/kubernetes.ts';
import { emptyTarget, log, METADATA, query } from './_installation.ts';

const target = emptyTarget();
const SERVICES = ['auth', 'projects', 'calls', 'entities', 'webhooks'];

const SECRET = { CRS_SECRET: 'x'.repeat(40) };
const SECRETS: Record<string, object> = { auth: SECRET, webhooks: { ...SECRET, CRS_PROGRAM_CREDENTIAL: 'y'.repeat(40) } };

/** Returns the URL of the database for a role whose password is its name. */
function as(role: string): string {
  const url = new URL(target.database.url);
  url.username = url.password = role;
  return url.href;
}
const asSuperuser = <Row>(statement: string) => query<Row>(target.postgres.url, statement);
const installWithoutRoles = (adminUrl: string) =>
  install({ adminUrl, manageRoles: false }, kubernetesSecrets(target.cluster.cluster, 'crs', METADATA), log);
const errorOf = (work: Promise<void>) =>
  work.then(
    () => '',
    (error: Error) => error.message,
  );

async function dropRoles(): Promise<void> {
  const [{ names }] = (await asSuperuser<{ names: string | null }>(
    `select string_agg(rolname, ', ') as names from pg_roles where rolname ~ '^crs_'`,
  )) as [{ names: string | null }];
  if (names !== null) await asSuperuser(`drop role ${names}`);
}

it('an upgrade needs no more than membership in the owner role, and leaves nothing that belongs to the member', async () => {
  await target.run();
  await asSuperuser(`create role passing login password 'passing' in role crs_owner`);
  await target.run(as('passing'));
  // As an upgrade does that adds a schema's first table.
  await query(target.database.url, `drop schema entities cascade; grant create on database ${target.database.name} to passing`);
  await target.run(as('passing'));
  expect(await query(target.secret('entities')['DATABASE_URL']!, 'select count(*)::int from entities.entities')).toEqual([
    { count: 0 },
  ]);
  await query(target.database.url, `revoke create on database ${target.database.name} from passing`);
  await asSuperuser('drop role passing');
});

it('without CRS_MANAGE_ROLES, an installation prints the statements that it needs, and then changes no role', async () => {
  await dropRoles();
  await asSuperuser(`create role installer login password 'installer'`);
  const admin = as('installer');
  expect(await errorOf(installWithoutRoles(admin))).toBe(
    'the Secret crs-auth is missing. Without CRS_MANAGE_ROLES, create it, with the DATABASE_URL of the role crs_auth.',
  );
  for (const service of SERVICES) {
    const stringData = { DATABASE_URL: as(`crs_${service}`), ...SECRETS[service] };
    const metadata = { name: service, labels: {} };
    target.cluster.secrets.set(`crs-${service}`, { apiVersion: 'v1', kind: 'Secret', type: 'Opaque', metadata, stringData });
  }
  const message = await errorOf(installWithoutRoles(admin));
  const plain = 'nosuperuser nobypassrls nocreatedb nocreaterole';
  const logins = SERVICES.map((service) => `create role crs_${service} login ${plain};`).join(' ');
  const statements = `create role crs_owner nologin ${plain}; grant crs_owner to installer; ${logins}`;
  expect(message).toBe(
    `Roles of the database are missing that this program doesn't create. As a database administrator, run: ${statements}`,
  );
  await asSuperuser(statements);
  for (const service of SERVICES) await asSuperuser(`alter role crs_${service} password 'crs_${service}'`);
  expect(await errorOf(installWithoutRoles(admin))).toMatch(/permission denied for database .* CREATE on the database/);
  await asSuperuser(`grant create on database ${target.database.name} to crs_owner`);

  const roles = () => asSuperuser(`select * from pg_authid where rolname ~ '^crs_' order by 1`);
  const before = await roles();
  await installWithoutRoles(admin);
  await installWithoutRoles(admin);
  expect(await roles()).toEqual(before);
  for (const service of SERVICES) {
    const url = target.secret(service)['DATABASE_URL']!;
    expect(await query(url, 'select current_user as role')).toEqual([{ role: `crs_${service}` }]);
  }
  await query(target.database.url, `revoke create on database ${target.database.name} from crs_owner`);
  await asSuperuser('drop role installer');
});

it('without CRS_MANAGE_ROLES, an installation asks for the second role of a service, too', async () => {
  await target.run();
  const url = new URL(target.secret('calls')['DATABASE_URL']!);
  url.username = 'crs_calls_b';
  target.secret('calls')['DATABASE_URL'] = url.href;
  expect(await errorOf(installWithoutRoles(target.database.url))).toMatch(
    /run: create role crs_calls_b login [a-z ]+; grant crs_calls to crs_calls_b;$/,
  );
});

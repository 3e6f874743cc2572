import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestDatabase } from '@crs/testing/postgres';
import { emptyDatabase, query } from './_fixtures.ts';

/** Rules for the schemas of all services, so that no table escapes them. All exceptions are listed here. */
let database: TestDatabase;
beforeAll(async () => {
  database = await emptyDatabase();
});
afterAll(() => database?.drop());

const names = async (text: string) => (await query<{ name: string }>(database.url, text)).map(({ name }) => name);

/** The roles of the schemas. Tests of migrations make other roles on this server meanwhile. */
const OUR_ROLES = `rolname in (select 'crs_' || nspname from pg_namespace)`;
const OURS = `n.nspname !~ '^(pg_|information_schema$|public$|install$)' and c.relname <> 'migrations'`;
const IN_SCHEMAS = `n.nspname in ('auth', 'calls', 'entities', 'install', 'projects', 'webhooks')`;
/** Tables above tenants: their rows hold nothing that belongs to a tenant. */
const ABOVE_TENANTS = [
  'auth.caller_keys',
  'auth.clients',
  'auth.oidc_payloads',
  'auth.operators',
  'auth.programs',
  'auth.retired_keys',
  'auth.throttles',
  'auth.token_keys',
];
/** They map an assertion issuer, an e-mail domain, a key and a SCIM token to its organization. Auth reads these tables before it knows the tenant. */
const DIRECTORIES = ['auth.assertion_issuers', 'auth.domain_directory', 'auth.key_directory', 'auth.scim_token_directory'];
/** By them, the webhook sender learns for all organizations which feeds moved, and which endpoints are due. */
const SENDER = ['calls.feed_heads', 'webhooks.due'];

describe('every table of every service', () => {
  const tables = (where: string) =>
    names(`select n.nspname || '.' || c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.relkind in ('r', 'p') and ${OURS} and ${where} order by 1`);
  const has = `exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'organization' and not a.attisdropped)`;

  it('is found by this test', async () => {
    expect(await tables('true')).toEqual(expect.arrayContaining(['auth.users', 'auth.audit', 'calls.calls', 'calls.notes']));
  });

  it('has an organization in each row, except for the tables above tenants', async () => {
    expect(await tables(`not ${has}`)).toEqual(ABOVE_TENANTS);
    expect(
      await tables(`${has} and not (select attnotnull from pg_attribute where attrelid = c.oid and attname = 'organization')`),
    ).toEqual([]);
  });

  it('has row-level security, forced for its owner too, except for the four directories and the two tables of the webhook sender', async () => {
    expect(await tables(`${has} and not (c.relrowsecurity and c.relforcerowsecurity)`)).toEqual([...DIRECTORIES, ...SENDER]);
  });

  it("has one policy for its owner and one by tenant for the service's role; only two tables have further policies", async () => {
    const policies = await names(`select format('%s %s.%s %s %s %s', p.polname, n.nspname, c.relname, p.polcmd,
        pg_get_expr(p.polqual, c.oid), pg_get_expr(p.polwithcheck, c.oid)) as name
      from pg_policy p join pg_class c on c.oid = p.polrelid join pg_namespace n on n.oid = c.relnamespace`);
    const isTenant = `(organization = NULLIF(current_setting('app.organization_id'::text, true), ''::text))`;
    const audit = [
      `tenant_reads auth.audit r ${isTenant} `,
      `tenant_adds auth.audit a  ${isTenant}`,
      `tenant_counts auth.audit w ${isTenant} ${isTenant}`,
    ];
    const expected = (await tables(`${has} and c.relrowsecurity`)).flatMap((table) => [
      `owner ${table} * true true`,
      ...(table === 'auth.audit' ? audit : [`tenant ${table} * ${isTenant} ${isTenant}`]),
    ]);
    const isAbove = `(current_setting('app.organization_id'::text, true) = '*'::text)`;
    const above = [
      ...['auth.audit', 'auth.organizations'].map((table) => `above_tenants ${table} r ${isAbove} `),
      `retention auth.audit d (${isAbove} AND (at < (now() - '90 days'::interval))) `,
    ];
    expect(policies.sort()).toEqual([...above, ...expected].sort());
    // Citus turns a restrictive policy into a permissive one on its workers.
    expect(await names('select polname as name from pg_policy where not polpermissive')).toEqual([]);
  });

  it('compares organizations by code point', async () => {
    expect(
      await tables(
        `exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'organization' and a.attcollation <> '"C"'::regcollation)`,
      ),
    ).toEqual([]);
  });
});

describe('every key and index', () => {
  const startsWithOrganization = `(select a.attname from pg_attribute a where a.attrelid = i.indrelid and a.attnum = i.indkey[0]) = 'organization'`;

  it('starts with the organization, except for the ones listed', async () => {
    const others = await names(`select n.nspname || '.' || x.relname as name from pg_index i
      join pg_class x on x.oid = i.indexrelid join pg_class c on c.oid = i.indrelid join pg_namespace n on n.oid = c.relnamespace
      where ${OURS} and c.relkind in ('r', 'p') and not coalesce(${startsWithOrganization}, false)
        and n.nspname || '.' || c.relname <> all (array['${ABOVE_TENANTS.join("','")}']) order by 1`);
    expect(others).toEqual([
      'auth.assertion_issuers_pkey', // read before the tenant is known, like the other three directories
      'auth.audit_by_time', // the trail of all organizations, for operators above them
      'auth.domain_directory_pkey',
      'auth.key_directory_pkey',
      'auth.scim_token_directory_pkey',
      'webhooks.due_by_time',
    ]);
  });

  it('that refers to another table stays within the organization and the schema', async () => {
    const strays = await names(`select f.conname as name from pg_constraint f
      join pg_class c on c.oid = f.conrelid join pg_namespace n on n.oid = c.relnamespace join pg_class t on t.oid = f.confrelid
      where f.contype = 'f' and ${OURS} and (t.relnamespace <> c.relnamespace
        or (select attname from pg_attribute where attrelid = c.oid and attnum = f.conkey[1]) <> 'organization'
        or (select attname from pg_attribute where attrelid = t.oid and attnum = f.confkey[1]) <> 'organization')`);
    expect(strays).toEqual([]);
  });

  it('includes a primary key for every table', async () => {
    const without = await names(`select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.relkind in ('r', 'p') and ${OURS} and not exists (select from pg_index i where i.indrelid = c.oid and i.indisprimary)`);
    expect(without).toEqual([]);
  });
});

describe('the owner of the schemas', () => {
  it('owns every table, function and schema', async () => {
    const others = await names(`select format('%s of %s', kind, owner) as name from (
        select 'relation ' || c.relname, c.relowner::regrole::text from pg_class c join pg_namespace n on n.oid = c.relnamespace where ${IN_SCHEMAS}
        union all select 'function ' || p.proname, p.proowner::regrole::text from pg_proc p join pg_namespace n on n.oid = p.pronamespace where ${IN_SCHEMAS}
        union all select 'schema ' || n.nspname, n.nspowner::regrole::text from pg_namespace n where ${IN_SCHEMAS}
      ) as objects (kind, owner) where owner <> 'crs_owner'`);
    expect(others).toEqual([]);
  });

  it('is the only role besides those of the services that policies name', async () => {
    const named = await names(`select distinct role as name from pg_policies, unnest(roles) as role order by 1`);
    expect(named).toEqual(['crs_auth', 'crs_calls', 'crs_entities', 'crs_owner', 'crs_projects', 'crs_webhooks']);
  });
});

describe("the services' roles", () => {
  const schemas = () =>
    names(`select n.nspname as name from pg_namespace n join pg_roles r on r.rolname = 'crs_' || n.nspname order by 1`);

  it('exist once for each schema, and can log in', async () => {
    expect(await schemas()).toEqual(expect.arrayContaining(['auth', 'calls']));
    const rest = await names(
      `select distinct n.nspname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace where ${OURS} order by 1`,
    );
    expect(rest).toEqual(await schemas());
    expect(await names(`select rolname as name from pg_roles where ${OUR_ROLES} and not rolcanlogin`)).toEqual([]);
  });

  it("can't get around row-level security: they are not superusers, can't bypass it, and can't create roles or databases", async () => {
    const above = `rolsuper or rolbypassrls or rolcreaterole or rolcreatedb or rolreplication`;
    expect(await names(`select rolname as name from pg_roles where ${OUR_ROLES} and (${above})`)).toEqual([]);
  });

  it('own nothing, and are members of no role', async () => {
    expect(
      await names(`select r.rolname || ' ' || d.classid::regclass as name from pg_shdepend d join pg_roles r on r.oid = d.refobjid
        where d.refclassid = 'pg_authid'::regclass and d.deptype = 'o' and ${OUR_ROLES}
          -- Not other databases of the server, nor what imports stage rows in.
          and d.dbid in (0, (select oid from pg_database where datname = current_database()))
          and d.objid not in (select oid from pg_class where relpersistence = 't')`),
    ).toEqual([]);
    expect(
      await names(`select r.rolname as name from pg_auth_members m join pg_roles r on r.oid = m.member where ${OUR_ROLES}`),
    ).toEqual([]);
  });

  it('can use only their own schema, and create nothing in it', async () => {
    const entries = await names(`select r.rolname || ' ' || n.nspname as name from pg_roles r, pg_namespace n
      where ${OUR_ROLES} and n.nspname in (select substr(rolname, 5) from pg_roles where ${OUR_ROLES})
        and has_schema_privilege(r.oid, n.oid, 'usage') order by 1`);
    expect(entries).toEqual((await schemas()).map((schema) => `crs_${schema} ${schema}`));
    expect(
      await names(`select r.rolname as name from pg_roles r, pg_namespace n where ${OUR_ROLES}
        and n.nspname !~ '^pg_' and has_schema_privilege(r.oid, n.oid, 'create')`),
    ).toEqual([]);
  });

  it('may neither truncate tables nor add triggers or keys; other roles have no rights at all', async () => {
    const grants =
      await names(`select distinct format('%s %s', coalesce(nullif(a.grantee, 0)::regrole::text, 'public'), a.privilege_type) as name
      from pg_class c join pg_namespace n on n.oid = c.relnamespace, aclexplode(c.relacl) a
      where c.relkind in ('r', 'p') and ${OURS} and a.grantee <> c.relowner`);
    const allowed = (await schemas()).flatMap((schema) =>
      ['SELECT', 'INSERT', 'UPDATE', 'DELETE'].map((right) => `crs_${schema} ${right}`),
    );
    expect(allowed).toEqual(expect.arrayContaining(grants));
    expect(grants.length).toBeGreaterThan(0);
  });
});

import { fitsCitus } from '@crs/testing/fits-citus';
import { sharedWorld, type World } from '@crs/testing/world';
import { beforeAll, describe, expect, it } from 'vitest';

// Checks the requirements of Citus for schema and statements on plain PostgreSQL. `trials/citus/run` runs the tests on a real Citus.

let world: World;
beforeAll(async () => {
  world = await sharedWorld();
});

const SERVICES = `('auth', 'projects', 'calls', 'entities', 'webhooks')`;
const TENANT_TABLES = `select c.oid from pg_class c where relforcerowsecurity and relnamespace::regnamespace::text in ${SERVICES}`;
const ORGANIZATION = `(select attnum from pg_attribute where attrelid = c.oid and attname = 'organization')`;

async function names(query: string): Promise<string[]> {
  return (await world.query(`${query} order by 1`)).rows.map(({ name }) => name);
}

describe('each tenant table', () => {
  it('is covered: the query finds more than 15', async () => {
    expect((await names(`select oid::regclass::text as name from (${TENANT_TABLES}) t`)).length).toBeGreaterThan(15);
  });

  it('has the organization in each unique index', async () => {
    expect(
      await names(`select indexrelid::regclass::text as name from pg_index join (${TENANT_TABLES}) c on c.oid = indrelid
        where indisunique and not ${ORGANIZATION} = any (indkey)`),
    ).toEqual([]);
  });

  it('has foreign keys only to tenant tables, with the organization as first column, and without set null or set default', async () => {
    expect(
      await names(`select conname as name from pg_constraint join (${TENANT_TABLES}) c on c.oid = conrelid where contype = 'f' and (
        confrelid not in (${TENANT_TABLES}) or conkey[1] <> ${ORGANIZATION} or confdeltype in ('n', 'd') or confupdtype in ('n', 'd')
        or confkey[1] <> (select attnum from pg_attribute where attrelid = confrelid and attname = 'organization'))`),
    ).toEqual([]);
  });

  it('is referenced only by foreign keys of tenant tables', async () => {
    expect(
      await names(`select conname as name from pg_constraint
        where contype = 'f' and confrelid in (${TENANT_TABLES}) and conrelid not in (${TENANT_TABLES})`),
    ).toEqual([]);
  });

  it('has policies without a subquery, and no trigger', async () => {
    expect(
      await names(`select format('%s of %s', polname, c.oid::regclass) as name from pg_policy join (${TENANT_TABLES}) c on c.oid = polrelid
        where concat(pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid)) ~* '\\mselect\\M'`),
    ).toEqual([]);
    expect(
      await names(`select tgname as name from pg_trigger join (${TENANT_TABLES}) c on c.oid = tgrelid where not tgisinternal`),
    ).toEqual([]);
  });
});

describe('fitsCitus, which all tests apply to their statements,', () => {
  it.each([
    'insert into calls.notes (organization, call_id) select $1, call_id from staged_notes',
    'delete from auth.project_roles where organization = $1 and (user_id, role) not in (select * from unnest($2, $3))',
    'update auth.users set disabled_at = coalesce(disabled_at, now()) where organization = $1',
    'with g as (update auth.grants set revoked_at = coalesce(revoked_at, now()) where organization = $1 returning *) select * from g',
    'update auth.users set disabled_at = case when $2 then now() end where organization = $1',
    'update projects.creations set lease_id = gen_random_uuid() where organization = $1',
    `update projects.creations set response = response || jsonb_build_object('lead', response -> 'lead') where organization = $1`,
    'update auth.grants set revoked_at = now() where organization = $1 returning expires_at > now() as live',
    `select set_config('app.organization_id', $1, true)`,
  ])('throws for: %s', (text) => {
    expect(() => fitsCitus({ text })).toThrow('Citus refuses');
  });

  it.each([
    'insert into calls.notes (organization, call_id) select $1, call_id from staged_notes on conflict do nothing',
    'delete from auth.project_roles where organization = $1 and not exists (select from unnest($2) as kept (id) where id = user_id)',
    'update auth.users set disabled_at = least(disabled_at, now()) where organization = $1',
    'update auth.oidc_payloads set consumed_at = coalesce(consumed_at, now()) where model = $1',
    'insert into auth.users (organization, user_id) values ($1, gen_random_uuid())',
  ])('returns: %s', (text) => {
    expect(fitsCitus({ text })).toEqual({ text });
  });
});

import * as column from '@crs/kit/data/column';
import type { Query, Statement } from '@crs/kit/data/database';

const OFFICE = { name: column.text, isDefault: column.boolean };

type OfficeRow = column.RowOf<typeof OFFICE>;

const SELECT_OFFICES = `select ${column.selectList(OFFICE)} from projects.billing_offices`;

export function listBillingOffices(organization: string): Statement<OfficeRow> {
  return {
    name: 'list_billing_offices',
    row: OFFICE,
    text: `${SELECT_OFFICES} where organization = $1 order by is_default desc, name`,
    values: [organization],
  };
}

/** The office with this name; for null, the default one. */
export function findBillingOffice(organization: string, name: string | null): Statement<OfficeRow> {
  return {
    name: 'find_billing_office',
    row: OFFICE,
    text: `${SELECT_OFFICES} where organization = $1 and (name = $2 or $2 is null and is_default)`,
    values: [organization, name],
  };
}

/** Stores an office. If it is the default, no other stays the default. */
export async function putBillingOffice(
  query: Query,
  organization: string,
  office: { name: string; isDefault: boolean | undefined },
): Promise<'created' | 'changed' | 'unchanged'> {
  const [before] = await query(findBillingOffice(organization, office.name));
  const isDefault = office.isDefault ?? before?.isDefault ?? false;
  if (before?.isDefault === isDefault) return 'unchanged';
  if (isDefault) {
    await query({
      name: 'clear_default_office',
      text: 'update projects.billing_offices set is_default = false where organization = $1 and is_default',
      values: [organization],
    });
  }
  await query({
    name: 'put_billing_office',
    text: `insert into projects.billing_offices (organization, name, is_default) values ($1, $2, $3)
      on conflict (organization, name) do update set is_default = excluded.is_default`,
    values: [organization, office.name, isDefault],
  });
  return before ? 'changed' : 'created';
}

export function eraseBillingOffices(organization: string): Statement {
  return {
    name: 'erase_billing_offices',
    text: 'delete from projects.billing_offices where organization = $1',
    values: [organization],
  };
}

/** The offices after a name, in order of name, without a limit. */
export function exportOffices(organization: string, after: string): Statement<OfficeRow> {
  return {
    name: 'export_offices',
    row: OFFICE,
    text: `${SELECT_OFFICES} where organization = $1 and name > $2 order by name`,
    values: [organization, after],
  };
}

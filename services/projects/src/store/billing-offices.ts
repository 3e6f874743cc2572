import type { Query, Statement } from '@crs/kit/data/database';

export interface BillingOfficeRow {
  name: string;
  isDefault: boolean;
}

/** The default first, then by name. */
export function listBillingOffices(organization: string): Statement {
  return {
    name: 'list_billing_offices',
    text: 'select name, is_default as "isDefault" from projects.billing_offices where organization = $1 order by is_default desc, name',
    values: [organization],
  };
}

/** The office of that name, or the default one for null; undefined where there is none. */
export async function findBillingOffice(
  query: Query,
  organization: string,
  name: string | null,
): Promise<BillingOfficeRow | undefined> {
  const [row] = await query<BillingOfficeRow>({
    name: 'find_billing_office',
    text: `select name, is_default as "isDefault" from projects.billing_offices
      where organization = $1 and (name = $2 or $2 is null and is_default)`,
    values: [organization, name],
  });
  return row;
}

/** A second default office moves the default. @returns whether that changed anything */
export async function putBillingOffice(
  query: Query,
  organization: string,
  office: { name: string; isDefault: boolean | undefined },
): Promise<boolean> {
  const before = await findBillingOffice(query, organization, office.name);
  const isDefault = office.isDefault ?? before?.isDefault ?? false;
  if (before?.isDefault === isDefault) return false;
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
  return true;
}

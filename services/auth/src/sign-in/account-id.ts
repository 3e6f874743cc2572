/** Identifies a user to oidc-provider. It names the organization, because a user id is unique within one organization only. */
export interface Account {
  organization: string;
  userId: string;
}

export function toAccountId({ organization, userId }: Account): string {
  return `${organization}/${userId}`;
}

export function parseAccountId(accountId: string): Account {
  const [organization = '', userId = ''] = accountId.split('/');
  return { organization, userId };
}

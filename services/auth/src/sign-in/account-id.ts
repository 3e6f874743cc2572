/** A user of the authorization server. The organization is part of it, because a user id is unique within one organization only. */
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

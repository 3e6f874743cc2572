/** Identifies a user to oidc-provider. It names the organization, because a user id is unique within one organization only. */
export interface Account {
  organization: string;
  userId: string;
  /** The version of the user's sessions at the sign-in. Browser sessions of an earlier version have ended. */
  sessionVersion: number;
}

export function toAccountId({ organization, userId, sessionVersion }: Account): string {
  return `${organization}/${userId}/${sessionVersion}`;
}

export function parseAccountId(accountId: string): Account {
  const [organization = '', userId = '', sessionVersion] = accountId.split('/');
  return { organization, userId, sessionVersion: Number(sessionVersion) };
}

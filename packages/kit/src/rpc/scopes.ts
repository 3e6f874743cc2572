/** The OAuth scopes of access tokens: each lets the tools read one kind of record for a user. */
export const OAUTH_SCOPES = ['calls:read', 'projects:read', 'entities:read'] as const;

export type OAuthScope = (typeof OAUTH_SCOPES)[number];

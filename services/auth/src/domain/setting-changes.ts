import { isDeepStrictEqual } from 'node:util';

/** The settings of an organization that the audit trail follows. */
export interface Settings {
  name: string | null;
  writeSurface: boolean;
  anonymizeInterviewees: boolean;
  /** Null: the default set. */
  allowedFields: string[] | null;
  rateLimitRequests: number;
  rateLimitPeriodSeconds: number;
  toolRateLimitRequests: number;
  toolRateLimitPeriodSeconds: number;
  oidcIssuer: string | null;
  oidcClientId: string | null;
  oidcHasClientSecret: boolean;
  oidcDomains: string[] | null;
}

/** The settings that changed, by name, from what to what. A new organization has nothing before. A secret shows no values. */
export function changesOf(
  before: Settings | undefined,
  after: Settings,
  isSecretNew = false,
): Record<string, { from: unknown; to: unknown }> {
  const [from, to] = [before && shown(before), shown(after)];
  const changes = Object.entries(to).flatMap(([setting, value]) => {
    const earlier: unknown = from?.[setting as keyof typeof from] ?? null;
    return isDeepStrictEqual(earlier, value) ? [] : [[setting, { from: earlier, to: value }] as const];
  });
  const isSecretGone = before?.oidcHasClientSecret === true && !after.oidcHasClientSecret;
  return {
    ...Object.fromEntries(changes),
    ...((isSecretNew || isSecretGone) && { oidc_client_secret: { from: null, to: null } }),
  };
}

function shown(settings: Settings) {
  return {
    name: settings.name,
    write_surface: settings.writeSurface,
    anonymize_interviewees: settings.anonymizeInterviewees,
    allowed_fields: settings.allowedFields ?? 'default',
    rate_limit: `${settings.rateLimitRequests}/${settings.rateLimitPeriodSeconds}`,
    tool_rate_limit: `${settings.toolRateLimitRequests}/${settings.toolRateLimitPeriodSeconds}`,
    oidc_issuer: settings.oidcIssuer,
    oidc_client_id: settings.oidcClientId,
    oidc_domains: settings.oidcDomains,
  };
}

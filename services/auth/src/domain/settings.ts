import { isDeepStrictEqual } from 'node:util';
import { invalid } from '@crs/kit/errors';
import { MOST_REQUESTS } from '@crs/kit/limits/rule';
import { ALLOWED_FIELDS, isAllowedField } from '@crs/records/allowed-fields';
import { lengthOf, unstorable } from '@crs/kit/text';
import type { AllowedFields, OrganizationSettings } from '@crs/proto/crs/auth/v1/admin';
import type { RateLimit } from '@crs/proto/crs/auth/v1/auth';

export const MAX_PERIOD_SECONDS = 86_400;

/** Settings to write, as they are stored. An undefined setting stays. */
export interface OrganizationChange extends OidcProviderChange {
  name?: string | undefined;
  writeSurface?: boolean | undefined;
  anonymizeInterviewees?: boolean | undefined;
  /** Null: the default set. */
  allowedFields?: string[] | null | undefined;
  rateLimitRequests?: number | undefined;
  rateLimitPeriodSeconds?: number | undefined;
  toolRateLimitRequests?: number | undefined;
  toolRateLimitPeriodSeconds?: number | undefined;
}

/** Null: the organization has no OpenID provider, or the provider knows us as a public client without a secret. */
export interface OidcProviderChange {
  oidcIssuer?: string | null;
  oidcClientId?: string | null;
  oidcClientSecretSealed?: Buffer | null;
  oidcDomains?: string[] | null;
}

/** @throws ServiceError invalid_argument that names the first bad setting */
export function parseSettings(settings: OrganizationSettings | undefined): OrganizationChange {
  if (!settings) return {};
  const rate = parseRate('rate_limit', settings.rateLimit);
  const toolRate = parseRate('tool_rate_limit', settings.toolRateLimit);
  return {
    name: settings.name === undefined ? undefined : requireText('name', settings.name, 1, 200),
    writeSurface: settings.writeSurface,
    anonymizeInterviewees: settings.anonymizeInterviewees,
    allowedFields: parseAllowedFields(settings.allowedFields),
    rateLimitRequests: rate?.requests,
    rateLimitPeriodSeconds: rate?.periodSeconds,
    toolRateLimitRequests: toolRate?.requests,
    toolRateLimitPeriodSeconds: toolRate?.periodSeconds,
  };
}

/** Limits are in characters. @returns the text @throws ServiceError invalid_argument */
export function requireText(field: string, text: string, min: number, max: number): string {
  const problem = unstorable(text);
  if (problem) throw invalid(field, problem);
  const length = lengthOf(text);
  if (length < min || length > max) throw invalid(field, `must be ${min} to ${max} characters long`);
  return text;
}

function parseAllowedFields(allowed: AllowedFields | undefined): string[] | null | undefined {
  if (!allowed) return undefined;
  if (allowed.default) return null;
  if (!allowed.fields.every(isAllowedField)) throw invalid('allowed_fields', `must be of ${ALLOWED_FIELDS.join(', ')}`);
  return ALLOWED_FIELDS.filter((field) => allowed.fields.includes(field));
}

function parseRate(field: string, rate: RateLimit | undefined): RateLimit | undefined {
  if (!rate) return undefined;
  if (rate.requests < 1 || rate.requests > MOST_REQUESTS) throw invalid(`${field}.requests`, `must be 1 to ${MOST_REQUESTS}`);
  if (rate.periodSeconds < 1 || rate.periodSeconds > MAX_PERIOD_SECONDS)
    throw invalid(`${field}.period_seconds`, `must be 1 to ${MAX_PERIOD_SECONDS}`);
  return rate;
}

/** The settings of an organization that the audit trail follows. */
interface Settings {
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
  const [from, to] = [before && toAuditView(before), toAuditView(after)];
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

function toAuditView(settings: Settings) {
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

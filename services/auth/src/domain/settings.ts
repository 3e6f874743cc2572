import { ALLOWED_FIELDS, DEFAULT_ALLOWED_FIELDS, isAllowedField } from '@crs/kit/product/allowed-fields';
import { invalid } from '@crs/kit/errors';
import { lengthOf, unstorable } from '@crs/kit/text';
import type { AllowedFields, Organization, OrganizationSettings } from '@crs/proto/crs/auth/v1/admin';
import type { RateLimit } from '@crs/proto/crs/auth/v1/auth';
import type { OrganizationChange, OrganizationRow } from '../store/organizations.ts';

export const MAX_REQUESTS = 1_000_000_000;
export const MAX_PERIOD_SECONDS = 86_400;

/** @throws ServiceError naming the setting that can't be */
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
  if (rate.requests < 1 || rate.requests > MAX_REQUESTS) throw invalid(`${field}.requests`, `must be 1 to ${MAX_REQUESTS}`);
  if (rate.periodSeconds < 1 || rate.periodSeconds > MAX_PERIOD_SECONDS)
    throw invalid(`${field}.period_seconds`, `must be 1 to ${MAX_PERIOD_SECONDS}`);
  return rate;
}

export function toOrganization(row: OrganizationRow): Organization {
  return {
    organizationId: row.organization,
    name: row.name ?? '',
    writeSurface: row.writeSurface,
    anonymizeInterviewees: row.anonymizeInterviewees,
    allowedFields: { default: row.allowedFields === null, fields: row.allowedFields ?? [...DEFAULT_ALLOWED_FIELDS] },
    rateLimit: { requests: row.rateLimitRequests, periodSeconds: row.rateLimitPeriodSeconds },
    toolRateLimit: { requests: row.toolRateLimitRequests, periodSeconds: row.toolRateLimitPeriodSeconds },
    createdAt: row.createdAt,
    oidcProvider:
      row.oidcIssuer === null
        ? undefined
        : {
            issuer: row.oidcIssuer,
            clientId: row.oidcClientId!,
            hasClientSecret: row.oidcHasClientSecret,
            domains: row.oidcDomains!,
          },
  };
}

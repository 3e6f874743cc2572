import { isDeepStrictEqual } from 'node:util';
import { invalid } from '@crs/kit/errors';
import { MOST_REQUESTS } from '@crs/kit/limits/rule';
import { ALLOWED_FIELDS, isAllowedField } from '@crs/records/allowed-fields';
import { isRetention, RETAIN_BY, type RetainBy } from '@crs/records/retain';
import { lengthOf, unstorable } from '@crs/kit/text';
import type { AllowedFields, OrganizationSettings } from '@crs/proto/crs/auth/v1/admin';
import type { RateLimit } from '@crs/proto/crs/auth/v1/auth';

export const MAX_PERIOD_SECONDS = 86_400;
export const CLIENTS = ['any', 'listed'] as const;
export const MAX_CLIENT_HOSTS = 100;
export const NO_RETENTION = 'must be 1y to 100y, 1d to 99999d, or none';
/** A host name in lower case. Metadata documents at other ports than 443 exist only where the installation allows them. */
export const CLIENT_HOST =
  /^(?=[^:]{1,253}(:|$))[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*(:[1-9]\d{0,4})?$/;

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
  deleteLimit: number;
  /** How long calls are kept, such as `3y` or `90d`, or `none`. */
  retainCalls: string;
  /** What a call's age is counted from. */
  retainBy: RetainBy;
  /** The calls that retention deletes in a day. */
  retainPerDay: number;
  /** `any` or `listed`. */
  clients: string;
  clientHosts: string[];
  ownTokens: boolean;
  /** Null: the organization has no OpenID provider. */
  oidcIssuer: string | null;
  oidcClientId: string | null;
  oidcDomains: string[] | null;
  /** `claim`, `xms_edov` or `issuer`. */
  oidcEmailProof: string | null;
  /** Issuers of identity assertions. */
  assertionIssuers: string[];
}

/** Settings as they are read: without the client secret. */
type StoredSettings = Settings & { oidcHasClientSecret: boolean };

/** Settings to write. Undefined settings keep their value. */
export type OrganizationChange = { [Name in keyof Settings]?: Settings[Name] | undefined } & {
  /** Null: a public client, which has no secret. */
  oidcClientSecretEncrypted?: Buffer | null;
};
export type OidcProviderChange = Pick<
  OrganizationChange,
  'oidcIssuer' | 'oidcClientId' | 'oidcClientSecretEncrypted' | 'oidcDomains' | 'oidcEmailProof'
>;

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
    deleteLimit: parseCount('delete_limit', settings.deleteLimit),
    retainCalls: parseRetainCalls(settings.retainCalls),
    retainBy: parseRetainBy(settings.retainBy),
    retainPerDay: parseCount('retain_per_day', settings.retainPerDay),
    clients: settings.clients === undefined ? undefined : parseClients(settings.clients),
    clientHosts: settings.clientHosts && parseClientHosts(settings.clientHosts.hosts),
    ownTokens: settings.ownTokens,
  };
}

/** @param min in characters @returns the text @throws ServiceError invalid_argument if it is too short, too long, or can't be stored */
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

function parseClients(text: string): string {
  if (!(CLIENTS as readonly string[]).includes(text)) throw invalid('clients', `must be one of ${CLIENTS.join(', ')}`);
  return text;
}

function parseClientHosts(hosts: string[]): string[] {
  const isHost = (host: string) => CLIENT_HOST.test(host.toLowerCase());
  if (hosts.length > MAX_CLIENT_HOSTS || !hosts.every(isHost))
    throw invalid('client_hosts', `must be at most ${MAX_CLIENT_HOSTS} hosts of metadata documents, like claude.ai`);
  return sortClientHosts(hosts.map((host) => host.toLowerCase()));
}

/** Returns each host once, so that the same hosts in another order are no change. */
export function sortClientHosts(hosts: readonly string[]): string[] {
  return [...new Set(hosts)].sort();
}

function parseRate(field: string, rate: RateLimit | undefined): RateLimit | undefined {
  if (!rate) return undefined;
  if (rate.requests < 1 || rate.requests > MOST_REQUESTS) throw invalid(`${field}.requests`, `must be 1 to ${MOST_REQUESTS}`);
  if (rate.periodSeconds < 1 || rate.periodSeconds > MAX_PERIOD_SECONDS)
    throw invalid(`${field}.period_seconds`, `must be 1 to ${MAX_PERIOD_SECONDS}`);
  return rate;
}

function parseCount(field: string, count: number | undefined): number | undefined {
  if (count !== undefined && (count < 1 || count > MOST_REQUESTS)) throw invalid(field, `must be 1 to ${MOST_REQUESTS}`);
  return count;
}

function parseRetainCalls(period: string | undefined): string | undefined {
  if (period !== undefined && !isRetention(period)) throw invalid('retain_calls', NO_RETENTION);
  return period;
}

function parseRetainBy(by: string | undefined): RetainBy | undefined {
  const known = RETAIN_BY.find((each) => each === by);
  if (by !== undefined && known === undefined) throw invalid('retain_by', `must be one of ${RETAIN_BY.join(', ')}`);
  return known;
}

/** Changed settings by name, for the audit trail. Values are JSON; a changed secret has null for both. */
export type SettingChanges = Record<string, { from: unknown; to: unknown }>;

/** @param before undefined for a new organization, whose settings change from null */
export function changesOf(before: StoredSettings | undefined, after: StoredSettings, isSecretNew = false): SettingChanges {
  const earlier: Record<string, unknown> = before ? toAuditView(before) : {};
  const changes = Object.entries(toAuditView(after))
    .map(([setting, to]) => [setting, { from: earlier[setting] ?? null, to }] as const)
    .filter(([, { from, to }]) => !isDeepStrictEqual(from, to));
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
    delete_limit: settings.deleteLimit,
    retain_calls: settings.retainCalls,
    retain_by: settings.retainBy,
    retain_per_day: settings.retainPerDay,
    clients: settings.clients,
    client_hosts: settings.clientHosts,
    own_tokens: settings.ownTokens,
    oidc_issuer: settings.oidcIssuer,
    oidc_client_id: settings.oidcClientId,
    oidc_domains: settings.oidcDomains,
    oidc_email_proof: settings.oidcEmailProof,
    assertion_issuers: settings.assertionIssuers,
  };
}

import { z } from 'zod';
import { MOST_REQUESTS } from '@crs/kit/limits/rule';
import { ALLOWED_FIELDS } from '@crs/records/allowed-fields';
import type { LineReader } from '@crs/records/import-batch';
import { email, kept, list, organizationId, parseLine, text, withForm } from '@crs/records/import-record';
import { isRetention, RETAIN_BY } from '@crs/records/retain';
import { MAX_PASSWORD_LENGTH, MIN_PASSWORD_LENGTH } from './password.ts';
import {
  CLIENT_HOST,
  CLIENTS,
  MAX_CLIENT_HOSTS,
  MAX_PERIOD_SECONDS,
  NO_RETENTION,
  sortClientHosts,
  type OrganizationChange,
} from './settings.ts';

/** The import records that auth stores. An optional field that is absent keeps the stored value. So does null, except in `allowed_fields`. */

export const rate = z.strictObject({
  requests: z.int().min(1).max(MOST_REQUESTS).describe('Requests in a period.'),
  period_seconds: z.int().min(1).max(MAX_PERIOD_SECONDS).describe('Length of the period.'),
});

const retention = withForm(text(1, 10).refine(isRetention, NO_RETENTION), {
  pattern: '^(none|([1-9]\\d?|100)y|[1-9]\\d{0,4}d)$',
});

const clientHost = z.string().regex(CLIENT_HOST, 'must be a host name in lower case, like claude.ai');
export const clientHosts = list(clientHost, { most: MAX_CLIENT_HOSTS }).transform(sortClientHosts);

/** The settings of an organization in an import line, and in a file of \`crs apply\`. */
export const settingFields = {
  name: kept(text(1, 200)).describe('Name for people.'),
  write_surface: kept(z.boolean()).describe('Whether keys may create projects and list billing offices. Initially false.'),
  anonymize_interviewees: kept(z.boolean()).describe('Whether REST replaces names of interviewees. Initially false.'),
  allowed_fields: list(z.enum(ALLOWED_FIELDS), { most: ALLOWED_FIELDS.length })
    // Normalizes the order, as `crs org update` does.
    .transform((fields) => ALLOWED_FIELDS.filter((field) => fields.includes(field)))
    .nullable()
    .optional()
    .describe('Fields of a call that REST returns. Null, and initially: all but `participants.email` and `cost`.'),
  rate_limit: kept(rate).describe('Limit of the organization at REST. Initially 600 requests in 60 seconds.'),
  tool_rate_limit: kept(rate).describe('Limit of each user at the tools. Initially 120 requests in 60 seconds.'),
  delete_limit: kept(z.int().min(1).max(MOST_REQUESTS)).describe(
    'Records that all keys together may delete in an hour. Initially 1000.',
  ),
  retain_calls: kept(retention).describe('How long calls are kept, such as `3y` or `90d`. Initially `none`.'),
  retain_by: kept(z.enum(RETAIN_BY)).describe(
    'What their age is counted from: `date` (without one, the creation) or `created`. Initially `date`.',
  ),
  retain_per_day: kept(z.int().min(1).max(MOST_REQUESTS)).describe('Calls deleted in a day. Initially 10000.'),
  clients: kept(z.enum(CLIENTS)).describe(
    'Assistants that users may connect. `listed`: those that an operator registered, and `client_hosts`. Initially `any`.',
  ),
  client_hosts: kept(clientHosts).describe(
    'Hosts of the metadata documents of assistants, in lower case, such as `claude.ai`. Initially none.',
  ),
  own_tokens: kept(z.boolean()).describe('Whether users may make access tokens. False ends those that exist. Initially false.'),
};

/** @param settings as {@link settingFields} parses them */
export function toChange(settings: {
  [Name in keyof typeof settingFields]?: z.output<(typeof settingFields)[Name]>;
}): OrganizationChange {
  const { rate_limit: rateLimit, tool_rate_limit: toolRateLimit } = settings;
  return {
    name: settings.name,
    writeSurface: settings.write_surface,
    anonymizeInterviewees: settings.anonymize_interviewees,
    allowedFields: settings.allowed_fields,
    rateLimitRequests: rateLimit?.requests,
    rateLimitPeriodSeconds: rateLimit?.period_seconds,
    toolRateLimitRequests: toolRateLimit?.requests,
    toolRateLimitPeriodSeconds: toolRateLimit?.period_seconds,
    deleteLimit: settings.delete_limit,
    retainCalls: settings.retain_calls,
    retainBy: settings.retain_by,
    retainPerDay: settings.retain_per_day,
    clients: settings.clients,
    clientHosts: settings.client_hosts,
    ownTokens: settings.own_tokens,
  };
}

const organization = z
  .strictObject({
    type: z.literal('organization'),
    id: organizationId.describe('1 to 40 of `a-z`, `0-9` and `-`, not starting with `-`.'),
    ...settingFields,
  })
  .transform(({ type, id, ...settings }) => ({ type, organization: id, change: toChange(settings) }));

const profile = {
  type: z.literal('user'),
  organization: organizationId,
  email: email.describe('Identifies the user. After a change, the former address makes another user.'),
  name: kept(text(1, 200)).describe('Name for people.'),
};

const user = z.strictObject({
  ...profile,
  password: kept(text(MIN_PASSWORD_LENGTH, MAX_PASSWORD_LENGTH)).describe('Hard to guess. A user who has a password keeps it.'),
  disabled: kept(z.boolean()).describe('True disables the user, as `crs user disable` does. False changes nothing.'),
});

/** A line of type `user` that a key may send. It can neither set a password nor disable a user. */
export const profileLine = z
  .discriminatedUnion('type', [z.strictObject(profile)])
  .transform((line): UserRecord => ({ ...line, password: undefined, disabled: undefined }));

/** A line of type `organization` or `user`. */
export const authLine = z.discriminatedUnion('type', [organization, user]);

export type AuthRecord = z.output<typeof authLine>;
export type OrganizationRecord = Extract<AuthRecord, { type: 'organization' }>;
export type UserRecord = Extract<AuthRecord, { type: 'user' }>;

export const run: LineReader<AuthRecord>['run'] = (json) => parseLine(authLine, json);
export const lineReader: LineReader<AuthRecord> = { url: import.meta.url, run };

import { z } from 'zod';
import { ServiceError } from '@crs/kit/errors';
import { KEY_RIGHTS } from '@crs/kit/rpc/key-rights';
import { ALLOWED_FIELDS } from '@crs/records/allowed-fields';
import { email, freeText, kept, list, organizationId, text, timestamp, uuid, withForm } from '@crs/records/import-record';
import { MAX_ISSUERS } from './assertion-issuers.ts';
import { clientHosts, rate, settingFields, toChange } from './import-records.ts';
import { parseKeyNetworks, parseRights, MAX_NETWORKS } from './key-rights.ts';
import { EMAIL_PROOFS, MAX_DOMAINS, parseDomains, parseIssuer } from './oidc-provider.ts';

/** An organization in a file of `crs apply`: its desired state. What is absent stays as it is. So does what is null, except in `expires_at`. */

/** Bounds each list: more than an organization manages in a file, and few enough for one transaction. */
export const MAX_LISTED = 2_000;

/** Also `on` and `off`, which Helm reads as booleans, but YAML 1.2 as text. */
const flag = z
  .union([z.boolean(), z.enum(['on', 'off'])], 'must be true or false')
  .transform((value) => value === true || value === 'on');

const RATE = /^([1-9]\d{0,9})\/([1-9]\d{0,9})$/;
/** `600/60`, as the options of `crs org update` take it, or an object as in import lines. */
const rateLimit = z.union([
  z
    .string()
    .regex(RATE, 'must be REQUESTS/SECONDS, like 600/60')
    .transform((value) => {
      const [, requests, seconds] = RATE.exec(value)!;
      return { requests: Number(requests), period_seconds: Number(seconds) };
    })
    .pipe(rate),
  rate,
]);

const allowedFields = z
  .union([
    z.enum(['default', 'none']).transform((value) => (value === 'default' ? null : [])),
    list(z.enum(ALLOWED_FIELDS), { most: ALLOWED_FIELDS.length }).transform((fields) =>
      ALLOWED_FIELDS.filter((field) => fields.includes(field)),
    ),
  ])
  .nullable()
  .optional();

/** A list that replaces the stored one; `none` empties it. */
const orNone = <S extends z.ZodType<string[]>>(schema: S) => z.union([z.literal('none').transform((): string[] => []), schema]);

const notEmpty = <S extends z.ZodType<unknown[]>>(schema: S) =>
  withForm(
    schema.refine((items) => items.length > 0, 'must have at least one item'),
    { minItems: 1 },
  );

/** Text that a parser of single settings refuses by a ServiceError. */
function parsedBy<T>(pattern: string, parse: (value: string) => T) {
  const schema = freeText.transform((value, context) => {
    try {
      return parse(value);
    } catch (error) {
      if (!(error instanceof ServiceError) || error.field === undefined) throw error;
      context.addIssue({ code: 'custom', message: error.message.slice(`${error.field}: `.length) });
      return z.NEVER;
    }
  });
  return withForm(schema, { pattern });
}

const issuer = parsedBy('^https://', (value) => parseIssuer('issuer', value));
const domain = parsedBy('^[A-Za-z0-9.-]+\\.[A-Za-z0-9.-]+$', (value) => parseDomains([value])[0]!);
const network = parsedBy('^[0-9A-Fa-f:.]+(/\\d{1,3})?$', (value) => parseKeyNetworks([value])[0]!);

const provider = z.strictObject({
  issuer: kept(issuer).describe('Required for a new provider. Another issuer is another provider.'),
  client_id: kept(text(1, 500)).describe('Required with another issuer.'),
  client_secret_file: kept(text(1, 4_096)).describe(
    'File with the client secret, relative to this file. Absent for a new provider: a public client.',
  ),
  domains: kept(notEmpty(list(domain, { most: MAX_DOMAINS }))).describe('Domains of the e-mails. Required for a new provider.'),
  email_proof: kept(z.enum(EMAIL_PROOFS)).describe('What proves an e-mail at the first sign-in. Initially `claim`.'),
});

const sha256 = z
  .string()
  .regex(/^[0-9A-Fa-f]{64}$/, 'must be 64 hexadecimal digits, which `crs key generate` prints')
  .transform((digest) => digest.toLowerCase());

const label = kept(text(0, 100)).describe('Purpose. Initially empty.');

const key = z.strictObject({
  label,
  sha256: sha256.describe("SHA-256 of the key, in hexadecimal: the key's identity."),
  rights: kept(notEmpty(list(z.enum(KEY_RIGHTS), { most: KEY_RIGHTS.length })).transform(parseRights)).describe(
    'What it may do. Fixed when the key is made. Initially `read` and `write`.',
  ),
  networks: kept(list(network, { most: MAX_NETWORKS })).describe(
    'Addresses and networks from which it may be used. Empty, and initially: all.',
  ),
  expires_at: timestamp.nullable().optional().describe('Null, and initially: never.'),
});

const scimToken = z.strictObject({
  label,
  sha256: sha256.describe("SHA-256 of the token, in hexadecimal: the token's identity."),
});

const groupMap = z.strictObject({
  group: text(1, 256).describe("Name of the directory's group, in any case."),
  project_id: uuid.describe('A project. While there is none with this id, the map waits for it.'),
  role: z.enum(['lead', 'member']).describe('The role that members of the group have.'),
});

const user = z.strictObject({
  email: email.describe('Identifies the user.'),
  name: kept(text(1, 200)).describe('Name for people.'),
  disabled: kept(flag).describe('False enables a user, unless the directory disabled them.'),
});

/** One item of `organizations`. */
export const tenantEntry = z
  .strictObject({
    id: organizationId.describe(
      '1 to 40 of `a-z`, `0-9` and `-`, not starting with `-`. The organization is created if it is missing.',
    ),
    ...settingFields,
    write_surface: kept(flag).describe(settingFields.write_surface.description!),
    anonymize_interviewees: kept(flag).describe(settingFields.anonymize_interviewees.description!),
    anonymize: kept(flag).describe('The same as `anonymize_interviewees`, under the name of the option of `crs org update`.'),
    own_tokens: kept(flag).describe(settingFields.own_tokens.description!),
    allowed_fields: allowedFields.describe(
      'Fields of a call that REST returns, or `default` or `none`. Null is `default`, all but `participants.email` and `cost`.',
    ),
    rate_limit: kept(rateLimit).describe(settingFields.rate_limit.description!),
    tool_rate_limit: kept(rateLimit).describe(settingFields.tool_rate_limit.description!),
    client_hosts: kept(orNone(clientHosts)).describe(settingFields.client_hosts.description!),
    assertion_issuers: kept(orNone(list(issuer, { most: MAX_ISSUERS }))).describe(
      'Issuers of identity assertions, which need a provider. `none` removes them.',
    ),
    oidc: kept(z.union([z.literal('none'), provider])).describe("The organization's OpenID provider. `none` removes it."),
    keys: kept(list(key, { most: MAX_LISTED })).describe('API keys. `--prune` revokes those that the list lacks.'),
    scim_tokens: kept(list(scimToken, { most: MAX_LISTED })).describe(
      'SCIM tokens of the directory. `--prune` revokes those that the list lacks.',
    ),
    group_maps: kept(list(groupMap, { most: MAX_LISTED })).describe(
      'Roles that groups of the directory give. `--prune` removes those that the list lacks.',
    ),
    users: kept(list(user, { most: MAX_LISTED })).describe(
      'People, without passwords. `--prune` disables those that the list lacks.',
    ),
  })
  .refine(({ anonymize, anonymize_interviewees: same }) => anonymize === undefined || same === undefined, {
    path: ['anonymize'],
    message: 'is the same as anonymize_interviewees, so give only one of both',
  })
  .transform(
    ({ id, oidc, anonymize, assertion_issuers: assertionIssuers, keys, scim_tokens, group_maps, users, ...settings }) => ({
      organization: id,
      change: toChange({ ...settings, ...(anonymize !== undefined && { anonymize_interviewees: anonymize }) }),
      oidc,
      assertionIssuers,
      keys,
      scim_tokens,
      group_maps,
      users,
    }),
  );

export type Tenant = z.output<typeof tenantEntry>;
export type TenantKey = z.output<typeof key>;
export type TenantScimToken = z.output<typeof scimToken>;
export type TenantGroupMap = z.output<typeof groupMap>;
export type TenantUser = z.output<typeof user>;

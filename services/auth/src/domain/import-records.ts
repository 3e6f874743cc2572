import { ALLOWED_FIELDS } from '@crs/kit/product/allowed-fields';
import {
  email,
  instant,
  list,
  nullableText,
  orDefault,
  organizationId,
  orNull,
  text,
  uuid,
} from '@crs/kit/product/import-record';
import { fold } from '@crs/kit/text';
import { z } from 'zod';
import { MAX_PERIOD_SECONDS, MAX_REQUESTS } from './settings.ts';

/** The import records of which auth stores something. In `organization` and `user` an absent field keeps what is stored. */

const rate = z.strictObject({
  requests: z.int().min(1).max(MAX_REQUESTS).describe('Requests in one period.'),
  period_seconds: z.int().min(1).max(MAX_PERIOD_SECONDS).describe('Length of the period in seconds.'),
});

const organization = z
  .strictObject({
    type: z.literal('organization'),
    id: organizationId,
    name: text(1, 200).optional().describe('Name for people.'),
    write_surface: z
      .boolean()
      .optional()
      .describe('Whether keys may create projects and list billing offices. False for a new organization.'),
    anonymize_interviewees: z
      .boolean()
      .optional()
      .describe('Whether REST replaces names of interviewees. False for a new organization.'),
    allowed_fields: z
      .array(z.enum(ALLOWED_FIELDS))
      // In one order and once each, as the setting is stored otherwise.
      .transform((fields) => ALLOWED_FIELDS.filter((field) => fields.includes(field)))
      .nullable()
      .optional()
      .describe('Fields of a call that REST shows. Null: all but `participants.email` and `cost`, as for a new organization.'),
    rate_limit: rate.optional().describe('Limit of the organization at REST. 600 requests in 60 seconds for a new organization.'),
    tool_rate_limit: rate
      .optional()
      .describe('Limit of each user at the tools. 120 requests in 60 seconds for a new organization.'),
  })
  .transform(({ id, ...settings }) => ({ ...settings, organization: id }));

const user = z.strictObject({
  type: z.literal('user'),
  organization: organizationId,
  email: email.describe('Identifies the user within the organization, without regard to case.'),
  name: nullableText.optional().describe('Name for people.'),
  password: text(8, 200).nullable().optional().describe('Password for sign-in. A user who has a password keeps it.'),
});

const member = z.strictObject({ email, role: orDefault(z.enum(['lead', 'member']), 'member') });

/** Of a project auth keeps who created it and who has which role; it checks the rest of the record, so that a bad one leaves no roles. */
const project = z
  .strictObject({
    type: z.literal('project'),
    organization: organizationId,
    id: uuid,
    name: nullableText,
    summary: nullableText,
    status: nullableText,
    is_archived: orDefault(z.boolean(), false),
    created_at: orNull(instant),
    created_by: orNull(email),
    billing_office_name: nullableText,
    members: orDefault(list(member), []),
  })
  .superRefine(({ members }, context) => {
    const seen = new Set<string>();
    members.forEach(({ email: address, role }, i) => {
      const key = `${role} ${fold(address)}`;
      if (seen.has(key))
        context.addIssue({ code: 'custom', path: ['members', i, 'email'], message: 'must not repeat with the same role' });
      seen.add(key);
    });
  });

/** A line of type `organization`, `user` or `project`. */
export const authLine = z.discriminatedUnion('type', [organization, user, project]);

export type AuthRecord = z.output<typeof authLine>;
export type OrganizationRecord = Extract<AuthRecord, { type: 'organization' }>;
export type UserRecord = Extract<AuthRecord, { type: 'user' }>;
export type ProjectRecord = Extract<AuthRecord, { type: 'project' }>;

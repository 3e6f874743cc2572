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
  requests: z.int().min(1).max(MAX_REQUESTS),
  period_seconds: z.int().min(1).max(MAX_PERIOD_SECONDS),
});

const organization = z
  .strictObject({
    type: z.literal('organization'),
    id: organizationId,
    name: text(1, 200).optional(),
    write_surface: z.boolean().optional(),
    anonymize_interviewees: z.boolean().optional(),
    allowed_fields: z
      .array(z.enum(ALLOWED_FIELDS))
      // In one order and once each, as the setting is stored otherwise.
      .transform((fields) => ALLOWED_FIELDS.filter((field) => fields.includes(field)))
      .nullable()
      .optional(),
    rate_limit: rate.optional(),
    tool_rate_limit: rate.optional(),
  })
  .transform(({ id, ...settings }) => ({ ...settings, organization: id }));

const user = z.strictObject({
  type: z.literal('user'),
  organization: organizationId,
  email,
  name: nullableText.optional(),
  password: text(8, 200).nullable().optional(),
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

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

const billingOffice = z.strictObject({
  type: z.literal('billing_office'),
  organization: organizationId,
  name: text(1, 200),
  is_default: z.boolean().optional(),
});

const member = z.strictObject({ email, role: orDefault(z.enum(['lead', 'member']), 'member') });

const project = z
  .strictObject({
    type: z.literal('project'),
    deleted: z.literal([false, null], 'must be true or false').optional(),
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

/** A line of type `billing_office` or `project`. */
export const projectsLine = z.discriminatedUnion('type', [billingOffice, project]);

export type ProjectsRecord = z.output<typeof projectsLine>;
export type BillingOfficeRecord = Extract<ProjectsRecord, { type: 'billing_office' }>;
export type ProjectRecord = Extract<ProjectsRecord, { type: 'project' }>;

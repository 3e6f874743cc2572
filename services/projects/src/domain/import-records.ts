import type { LineReader } from '@crs/records/import-batch';
import {
  email,
  timestamp,
  kept,
  list,
  MAX_ITEMS,
  nullableText,
  orDefault,
  organizationId,
  orNull,
  parseLine,
  text,
  uuid,
} from '@crs/records/import-record';
import { fold } from '@crs/kit/text';
import { z } from 'zod';

const billingOffice = z.strictObject({
  type: z.literal('billing_office'),
  organization: organizationId,
  name: text(1, 200).describe('Identifies the office within the organization. Names are compared exactly.'),
  is_default: kept(z.boolean()).describe('Whether projects without an office get this one. True moves the default here.'),
});

const member = z.strictObject({
  email: email.describe('A user of the organization. The same user may not repeat with the same role.'),
  role: orDefault(z.enum(['lead', 'member']), 'member').describe('Role of the user in the project.'),
});

const project = z
  .strictObject({
    type: z.literal('project'),
    deleted: z
      .literal([false, null], 'must be true or false')
      .optional()
      .describe('Not true: the line is a record, not a deletion.'),
    organization: organizationId,
    id: uuid.describe('Identifies the project within the organization.'),
    name: nullableText.describe('Name of the project.'),
    summary: nullableText.describe('Short description of the research scope.'),
    status: nullableText.describe('Any text. Projects that are created by REST have `active`.'),
    is_archived: orDefault(z.boolean(), false).describe('Whether tools hide the project unless archived projects are requested.'),
    created_at: orNull(timestamp).describe('When the project was created. Absent: the stored time, or the time of this import.'),
    created_by: orNull(email).describe('The user who created the project and therefore sees it.'),
    billing_office_name: nullableText.describe('Name of a billing office that exists.'),
    members: orDefault(list(member, { most: MAX_ITEMS }), []).describe(
      'The people of the project, as one list that replaces the stored one.',
    ),
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

type ProjectsRecord = z.output<typeof projectsLine>;
export type BillingOfficeRecord = Extract<ProjectsRecord, { type: 'billing_office' }>;
export type ProjectRecord = Extract<ProjectsRecord, { type: 'project' }>;

export const run: LineReader<ProjectsRecord>['run'] = (json) => parseLine(projectsLine, json);
export const lineReader: LineReader<ProjectsRecord> = { url: import.meta.url, run };

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
  text,
  uuid,
} from '@crs/records/import-record';
import { notMerge, ofMerge, parseMergeable, type Merge } from '@crs/records/merge';
import { fold } from '@crs/kit/text';
import { z } from 'zod';

export const officeName = text(1, 200);

const billingOffice = z.strictObject({
  type: z.literal('billing_office'),
  organization: organizationId,
  name: officeName.describe('Identifies the office. Names are compared exactly.'),
  is_default: kept(z.boolean()).describe('Whether projects without an office get this one.'),
});

const member = z.strictObject({
  email: email.describe('A user may not repeat with the same role.'),
  role: orDefault(z.enum(['lead', 'member']), 'member').describe('The role in the project.'),
});

const SHAPE = {
  type: z.literal('project'),
  deleted: z
    .literal([false, null], 'must be true or false')
    .optional()
    .describe('Not true: the line is a record, not a deletion.'),
  organization: organizationId,
  id: uuid.describe('Identifies the project.'),
  name: nullableText.describe('Name of the project.'),
  summary: nullableText.describe('Short description of the research scope.'),
  status: nullableText.describe('Any text; `active` for projects created by REST.'),
  is_archived: orDefault(z.boolean(), false).describe('Whether tools return the project only when archived ones are requested.'),
  created_at: orNull(timestamp).describe('Absent: the stored time, or the time of this import.'),
  created_by: orNull(email).describe('The creator, who therefore sees the project.'),
  billing_office_name: nullableText.describe('An existing billing office.'),
  members: orDefault(list(member, { most: MAX_ITEMS }), []).describe('The people of the project.'),
};

const project = z.strictObject({ ...SHAPE, merge: notMerge }).superRefine(checkMembers);

/** A line of type `project` that changes properties of a stored project. */
export const projectMerge = z.strictObject({ ...SHAPE, ...ofMerge }).superRefine(checkMembers);

function checkMembers({ members }: { members: z.output<typeof member>[] }, context: z.RefinementCtx): void {
  const seen = new Set<string>();
  members.forEach(({ email: address, role }, i) => {
    const key = `${role} ${fold(address)}`;
    if (seen.has(key))
      context.addIssue({ code: 'custom', path: ['members', i, 'email'], message: 'must not repeat with the same role' });
    seen.add(key);
  });
}

/** A line of type `billing_office` or `project`. */
export const projectsLine = z.discriminatedUnion('type', [billingOffice, project]);

type ProjectsRecord = z.output<typeof projectsLine>;
export type BillingOfficeRecord = Extract<ProjectsRecord, { type: 'billing_office' }>;
export type ProjectRecord = Extract<ProjectsRecord, { type: 'project' }>;

export const run: LineReader<ProjectsRecord | Merge>['run'] = (json) =>
  parseMergeable({ whole: projectsLine, merge: projectMerge }, json);
export const lineReader: LineReader<ProjectsRecord | Merge> = { url: import.meta.url, run };

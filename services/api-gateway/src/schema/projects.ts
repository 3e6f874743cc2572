import { z } from 'zod';
import { namedObject, nextCursor, nullableText, timestamp, uuid } from './common.ts';

const billingOffice = namedObject('BillingOffice', 'A billing office of the organization.', {
  name: z.string().meta({
    description: 'Identifies the office; the value for `billing_office_name` when a project is created.',
    examples: ['London'],
  }),
  is_default: z.boolean().describe('Whether this office bills projects that name no other. True for at most one office.'),
});

export const billingOfficeList = namedObject('BillingOfficeList', 'The billing offices of the organization.', {
  data: z.array(billingOffice).describe('All offices: the default first, then by name.'),
});

const person = namedObject('Person', 'A user of the organization.', {
  name: nullableText('Null if not recorded.', 'Dana Whitfield'),
  email: z.string().meta({ description: 'As recorded.', examples: ['dana@northwind.example'] }),
});

const shared = {
  project_id: uuid('Identifies the project.'),
  name: nullableText('Null if an imported project has none.'),
  summary: nullableText('The scope of the research. Null if there is none.'),
  status: nullableText('`active` for a new project. Null if an imported project has none.', 'active'),
  created_at: timestamp('When the project was created.'),
  billing_office_name: nullableText('The office that is billed. Null if there is none.'),
};

export const project = namedObject('Project', 'A project of the organization.', {
  ...shared,
  lead: person.nullable().describe('Null if an imported project has none.'),
  members: z
    .array(person)
    .describe('All other people on the project, ordered by e-mail. Includes further leads of an imported project.'),
});

export const projectListItem = namedObject('ProjectListItem', 'A project in a list: without its people.', {
  ...shared,
  is_archived: z.boolean().describe('Whether the tools return the project only if archived ones are requested.'),
});

export const projectList = namedObject('ProjectList', 'A page of projects.', {
  data: z.array(projectListItem).describe('The projects of this page, newest first.'),
  next_cursor: nextCursor,
});

import { z } from 'zod';
import { namedObject, nullableText, timestamp, uuid } from './common.ts';

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

export const project = namedObject('Project', 'A project of the organization.', {
  project_id: uuid('Identifies the project.'),
  name: nullableText('Null if an imported project has none.'),
  summary: nullableText('The scope of the research. Null if there is none.'),
  status: nullableText('`active` for a new project. Null if an imported project has none.', 'active'),
  created_at: timestamp('When the project was created.'),
  lead: person.nullable().describe('Null if an imported project has none.'),
  members: z
    .array(person)
    .describe('All other people on the project, ordered by e-mail. Includes further leads of an imported project.'),
  billing_office_name: nullableText('The office that is billed. Null if there is none.'),
});

/** Projects and billing offices as the API answers them. */
import { z } from 'zod';
import { components, shownInstant, shownUuid } from './common.ts';

const billingOffice = z
  .strictObject({
    name: z.string().meta({
      description: 'Identifies the office; the value for `billing_office_name` when a project is created.',
      examples: ['London'],
    }),
    is_default: z.boolean().describe('Projects are billed by it where they name no other. True of one office at most.'),
  })
  .describe('A billing office of the organization.')
  .register(components, { id: 'BillingOffice' });

export const billingOfficeList = z
  .strictObject({ data: z.array(billingOffice).describe('All offices: the default first, then by name.') })
  .describe('The billing offices of the organization.')
  .register(components, { id: 'BillingOfficeList' });

const person = z
  .strictObject({
    name: z
      .string()
      .nullable()
      .meta({ description: 'Null where not recorded.', examples: ['Dana Whitfield'] }),
    email: z.string().meta({ description: 'As it is recorded.', examples: ['dana@northwind.example'] }),
  })
  .describe('A user of the organization.')
  .register(components, { id: 'Person' });

export const project = z
  .strictObject({
    project_id: shownUuid('Identifies the project.'),
    name: z.string().nullable().describe('Null where an imported project has none.'),
    summary: z.string().nullable().describe('The scope of the research. Null where there is none.'),
    status: z
      .string()
      .nullable()
      .meta({ description: '`active` for a new project. Null where an imported project has none.', examples: ['active'] }),
    created_at: shownInstant('When the project was created.'),
    lead: person.nullable().describe('Null where an imported project has none.'),
    members: z.array(person).describe('All others on the project, further leads of an imported project among them, by e-mail.'),
    billing_office_name: z.string().nullable().describe('The office that is billed. Null where there is none.'),
  })
  .describe('A project of the organization.')
  .register(components, { id: 'Project' });

import { NO_PARAMETERS, parseQuery } from '../http/query.ts';
import { callOf, stateOf } from '@crs/kit/http/request';
import { sendJson } from '../http/send.ts';
import { NOT_ENABLED } from '../http/key-access.ts';
import type { Route } from '../route.ts';
import { BILLING_OFFICES } from '../schema/examples.ts';
import { billingOfficeList } from '../schema/projects.ts';

/** `GET /v1/billing-offices` */
export const listBillingOffices: Route = {
  method: 'get',
  access: { rights: ['read'], writeSurface: true },
  operationId: 'listBillingOffices',
  tag: 'Projects',
  summary: 'List billing offices',
  description:
    'The organization’s billing offices: the default first, then by name. Their names are the values for `billing_office_name` when a project is created.',
  success: {
    status: 200,
    description: 'All billing offices.',
    schema: billingOfficeList,
    examples: { offices: { summary: 'Two offices', value: BILLING_OFFICES } },
  },
  refusals: {
    400: { when: 'The request has a query; this path takes none.', message: "page: isn't a parameter here. Allowed: none" },
    404: {
      when: 'The organization is not enabled for the write surface, or the key does not have the right `read`.',
      message: NOT_ENABLED,
    },
  },
  async handle({ projects }, request, response) {
    parseQuery(request.url, NO_PARAMETERS);
    const { billingOffices } = await projects.listBillingOffices({}, callOf(response));
    stateOf(response).logFields.rows = billingOffices.length;
    const data = billingOffices.map(({ name, isDefault }) => ({ name, is_default: isDefault }));
    await sendJson(request, response, [Buffer.from(JSON.stringify({ data }))]);
  },
};

import { callOf, stateOf } from '@crs/kit/http/request';
import { missingRight } from '../http/key-access.ts';
import { LIST, parseList } from '../http/query.ts';
import { sendList } from '../http/send.ts';
import type { Route } from '../route.ts';
import { entityList } from '../schema/entities.ts';
import { ENTITIES } from '../schema/examples.ts';

/** `GET /v1/entities` */
export const listEntities: Route = {
  method: 'get',
  access: { rights: ['read'] },
  operationId: 'listEntities',
  tag: 'Entities',
  summary: 'List entities',
  description:
    'All entities of the organization, newest first (by `created_at`, then `entity_id`). Request one page after another until `next_cursor` is null. A page ends early at 8 MiB.',
  query: LIST,
  success: {
    status: 200,
    description: 'A page of entities.',
    schema: entityList,
    examples: { entities: { summary: 'An entity', value: ENTITIES } },
  },
  refusals: {
    400: {
      when: 'A parameter is unknown, empty, repeated or invalid; the message names it. If it is `cursor`, begin again without it.',
      message: 'limit: must be a whole number from 1 to 1000, in digits',
    },
    404: { when: 'The key does not have the right `read`.', message: missingRight(['read']) },
  },
  async handle({ entities }, request, response) {
    const { logFields } = stateOf(response);
    const page = await entities.listOrganizationEntities(parseList(request.url, logFields), callOf(response));
    const { entitiesJson, nextCursor, entityCount, firstEntityId, lastEntityId } = page;
    Object.assign(logFields, { rows: entityCount, first_id: firstEntityId, last_id: lastEntityId });
    await sendList(request, response, entitiesJson, nextCursor);
  },
};

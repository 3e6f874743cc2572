import { callOf, stateOf } from '@crs/kit/http/request';
import { NOT_ENABLED } from '../http/key-access.ts';
import { LIST, parseList } from '../http/query.ts';
import { sendList } from '../http/send.ts';
import type { Route } from '../route.ts';
import { PROJECTS } from '../schema/examples.ts';
import { projectList } from '../schema/projects.ts';

/** `GET /v1/projects` */
export const listProjects: Route = {
  method: 'get',
  access: { rights: ['read'], writeSurface: true },
  operationId: 'listProjects',
  tag: 'Projects',
  summary: 'List projects',
  description:
    'All projects of the organization, newest first (by `created_at`, then `project_id`), without their people. Request one page after another until `next_cursor` is null. A page ends early at 8 MiB.',
  query: LIST,
  success: {
    status: 200,
    description: 'A page of projects.',
    schema: projectList,
    examples: { projects: { summary: 'Two projects', value: PROJECTS } },
  },
  refusals: {
    400: {
      when: 'A parameter is unknown, empty, repeated or invalid; the message names it. If it is `cursor`, begin again without it.',
      message: 'limit: must be a whole number from 1 to 1000, in digits',
    },
    404: {
      when: 'The organization is not enabled for the write surface, or the key does not have the right `read`.',
      message: NOT_ENABLED,
    },
  },
  async handle({ projects }, request, response) {
    const { logFields } = stateOf(response);
    const page = await projects.listOrganizationProjects(parseList(request.url, logFields), callOf(response));
    const { projectsJson, nextCursor, projectCount, firstProjectId, lastProjectId } = page;
    Object.assign(logFields, { rows: projectCount, first_id: firstProjectId, last_id: lastProjectId });
    await sendList(request, response, projectsJson, nextCursor);
  },
};

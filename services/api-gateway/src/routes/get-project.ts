import { z } from 'zod';
import { invalid } from '@crs/kit/errors';
import { parseUuid } from '@crs/kit/text';
import type { Person, Project } from '@crs/proto/crs/projects/v1/projects';
import { NO_PARAMETERS, parseQuery } from '../http/query.ts';
import { callOf, stateOf } from '@crs/kit/http/request';
import { sendJson } from '../http/send.ts';
import type { Route } from '../route.ts';
import { PROJECT } from '../schema/examples.ts';
import { project } from '../schema/projects.ts';

const INVALID_UUID = 'must be a UUID (8-4-4-4-12 hexadecimal digits)';

const path = z.object({
  project_id: z
    .string()
    .transform((text) => parseUuid(text))
    .meta({
      description: 'Identifies the project. Case-insensitive.',
      example: '6f1d3c52-8a0e-4b57-9d1c-2e7f40a9b813',
      wire: { type: 'string', format: 'uuid' },
    }),
});

/** `GET /v1/projects/{project_id}` */
export const getProject: Route = {
  method: 'get',
  access: { rights: ['read'], writeSurface: true },
  operationId: 'getProject',
  tag: 'Projects',
  summary: 'Get a project',
  description: 'Any project of the organization, whoever created it.',
  path,
  success: {
    status: 200,
    description: 'The project.',
    schema: project,
    examples: { project: { summary: 'A project', value: PROJECT } },
  },
  refusals: {
    400: { when: 'The id is not a UUID, or the request has a query.', message: `project_id: ${INVALID_UUID}` },
    404: {
      when: 'The organization has no project with this id, or is not enabled for the write surface, or the key does not have the right `read`; the message says which.',
      message: 'There is no project with this id.',
    },
  },
  async handle({ projects }, request, response) {
    const { project_id: projectId } = path.parse(request.params);
    stateOf(response).logFields.project_id = projectId;
    parseQuery(request.url, NO_PARAMETERS);
    if (!projectId) throw invalid('project_id', INVALID_UUID);
    const { project: found } = await projects.getProject({ projectId }, callOf(response));
    await sendJson(request, response, [renderProject(found!)]);
  },
};

/** The response body of `POST /projects` and `GET /projects/{project_id}`. */
export function renderProject(project: Project): Buffer {
  return Buffer.from(
    JSON.stringify({
      project_id: project.projectId,
      name: project.name ?? null,
      summary: project.summary ?? null,
      status: project.status ?? null,
      created_at: project.createdAt!.toISOString(),
      lead: project.lead ? renderPerson(project.lead) : null,
      members: project.members.map(renderPerson),
      billing_office_name: project.billingOfficeName ?? null,
    }),
  );
}

function renderPerson({ name, email }: Person) {
  return { name: name ?? null, email };
}

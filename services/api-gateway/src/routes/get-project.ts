import { z } from 'zod';
import type { Request, Response } from 'express';
import { invalid } from '@crs/kit/errors';
import { parseUuid } from '@crs/kit/text';
import type { Context } from '../context.ts';
import { parseQuery } from '../http/query.ts';
import { callOf } from '../http/request.ts';
import { sendJson } from '../http/send.ts';
import { requireWriteSurface } from '../http/write-surface.ts';
import { renderProject } from './project.ts';

const query = z.object({});

/** `GET /v1/projects/{project_id}` */
export function getProject({ projects }: Context) {
  return async (request: Request, response: Response): Promise<void> => {
    requireWriteSurface(response, { writes: false });
    parseQuery(request.url, query);
    const projectId = parseUuid(String(request.params['project_id']));
    if (!projectId) throw invalid('project_id', 'must be a UUID (8-4-4-4-12 hexadecimal digits)');
    const { project } = await projects.getProject({ projectId }, callOf(response));
    sendJson(request, response, renderProject(project!));
  };
}

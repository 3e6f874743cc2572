import { z } from 'zod';
import type { Request, Response } from 'express';
import type { Context } from '../context.ts';
import { parseQuery } from '../http/query.ts';
import { callOf } from '../http/request.ts';
import { sendJson } from '../http/send.ts';
import { requireWriteSurface } from '../http/write-surface.ts';

const query = z.object({});

/** `GET /v1/billing-offices` */
export function listBillingOffices({ projects }: Context) {
  return async (request: Request, response: Response): Promise<void> => {
    requireWriteSurface(response, { writes: false });
    parseQuery(request.url, query);
    const { billingOffices } = await projects.listBillingOffices({}, callOf(response));
    const data = billingOffices.map(({ name, isDefault }) => ({ name, is_default: isDefault }));
    sendJson(request, response, Buffer.from(JSON.stringify({ data })));
  };
}

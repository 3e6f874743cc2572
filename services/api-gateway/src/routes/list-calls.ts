import { z } from 'zod';
import { invalid } from '@crs/kit/errors';
import type { Request, Response } from 'express';
import type { Context } from '../context.ts';
import { instant, parseQuery, wholeNumber } from '../http/query.ts';
import { callOf } from '../http/request.ts';
import { sendJson } from '../http/send.ts';

const MAX_PAGE = 2_147_483_647;
const MAX_PER_PAGE = 200;

const query = z.object({
  start_date: instant('up'),
  end_date: instant('up'),
  updated_since: instant('up').optional(),
  page: wholeNumber(1, MAX_PAGE).default(1),
  per_page: wholeNumber(1, MAX_PER_PAGE).default(50),
});

/** `GET /v1/calls` */
export function listCalls({ calls }: Context) {
  return async (request: Request, response: Response): Promise<void> => {
    const {
      start_date: start,
      end_date: end,
      updated_since: updatedSince,
      page,
      per_page: perPage,
    } = parseQuery(request.url, query);
    if (start >= end) throw invalid('start_date', 'must be before end_date, which is exclusive');
    const { itemsJson, totalItems } = await calls.listOrganizationCalls(
      { start, end, updatedSince, page, perPage },
      callOf(response),
    );
    const pagination = {
      page,
      per_page: perPage,
      total_items: totalItems,
      total_pages: Math.max(1, Math.ceil(totalItems / perPage)),
    };
    sendJson(request, response, Buffer.concat([DATA, itemsJson, PAGINATION, Buffer.from(JSON.stringify(pagination)), END]));
  };
}

const DATA = Buffer.from('{"data":');
const PAGINATION = Buffer.from(',"pagination":');
const END = Buffer.from('}');

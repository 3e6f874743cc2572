import { z } from 'zod';
import type { Request, Response } from 'express';
import type { Context } from '../context.ts';
import { flag, parseQuery } from '../http/query.ts';
import { callOf } from '../http/request.ts';
import { sendJson } from '../http/send.ts';

const query = z.object({
  include_verbatim: flag.default(true),
  include_redacted: flag.default(true),
  include_clean: flag.default(true),
});

/** `GET /v1/calls/{call_id}` */
export function getCall({ calls }: Context) {
  return async (request: Request, response: Response): Promise<void> => {
    const include = parseQuery(request.url, query);
    const { callJson } = await calls.getOrganizationCall(
      {
        callId: String(request.params['call_id']).toWellFormed(),
        withoutVerbatim: !include.include_verbatim,
        withoutRedacted: !include.include_redacted,
        withoutClean: !include.include_clean,
      },
      callOf(response),
    );
    sendJson(request, response, callJson);
  };
}

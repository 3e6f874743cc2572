import { z } from 'zod';
import type { Response } from 'express';
import { invalid } from '@crs/kit/errors';
import { Refusal } from '@crs/kit/http/refusal';
import { stateOf } from '@crs/kit/http/request';
import { authenticatedOf } from '../http/authentication.ts';
import { NDJSON_BODY, withRecords } from '../http/body.ts';
import { missingRight } from '../http/key-access.ts';
import { flag, parseQuery } from '../http/query.ts';
import { sendJsonOnce } from '../http/send.ts';
import { chargeDeletions, requireWithinLimit } from '../records/charge-deletions.ts';
import { putRuns, type PutResult } from '../records/put-runs.ts';
import { routeLines, type LineError, type RoutedLine } from '../records/route-lines.ts';
import { MAX_LINES, splitLines } from '../records/split-lines.ts';
import type { Context, Route } from '../route.ts';
import { RECORD_LINES, RECORDS_RESULT, RECORDS_REFUSED } from '../schema/record-examples.ts';
import { recordsResult } from '../schema/records.ts';

/** The deadline of the request, and how long its body may take to arrive. */
export const RECORDS_MS = 30_000;
const MAX_BYTES = 16 * 1024 * 1024;

const query = z.object({
  on_refusal: z
    .enum(['abort'], 'must be abort')
    .optional()
    .describe(
      '`abort`: if any line is refused, nothing is stored, and the response is 400 with the list of refused lines as `error.details`. All lines must have the same type.',
    ),
  check: flag.default(false).describe('`true`: nothing is stored, but the response is the same as if it were.'),
});

/** `POST /v1/records` */
export const putRecords: Route = {
  method: 'post',
  access: { rights: ['ingest', 'delete'] },
  operationId: 'putRecords',
  tag: 'Records',
  summary: 'Send records',
  description:
    'Stores calls, entities, projects, billing offices and users, and deletes calls and entities: one record a line, in the format of `crs import`. Valid lines are stored, and the others are listed in the response, so check `refused`. Adjacent lines of one type are stored together, in order, all or none of the valid ones. After a 5xx, earlier lines may be stored: send the whole body again, which changes nothing that is stored already. Records need a key with the right `ingest`; deletions need the right `delete`.',
  query,
  body: {
    name: 'RecordLines',
    mediaType: NDJSON_BODY.mediaType,
    description: `1 to ${MAX_LINES} JSON lines, each at most 8 MiB; 16 MiB in all, uncompressed, within 30 s.`,
    schema: { type: 'string', description: 'One JSON object a line, as the chapter “Send records” of the guide describes.' },
    examples: { records: { summary: 'A project, a call, a change of a call, and a deletion', value: RECORD_LINES } },
  },
  bodyMs: RECORDS_MS,
  success: {
    status: 200,
    description: 'The lines were processed; some may be refused.',
    schema: recordsResult,
    examples: {
      stored: { summary: 'All lines are stored', value: RECORDS_RESULT },
      refused: { summary: 'One line is refused', value: RECORDS_REFUSED },
    },
  },
  refusals: {
    400: {
      when: 'The body has no line or too many, more deletions than the organization may make in an hour, or, with `on_refusal=abort`, a refused line (see `details`); or a parameter is invalid. Nothing is stored.',
      message: '1 of 4 lines were refused, and nothing was stored. `details` names them.',
      details: RECORDS_REFUSED.errors,
    },
    404: { when: 'The key has neither the right `ingest` nor `delete`.', message: missingRight(['ingest', 'delete']) },
    408: { when: 'The body did not arrive within 30 s.', message: 'The body did not arrive within 30 s.' },
    413: { when: 'The body is larger than 16 MiB.', message: `The body is larger than ${MAX_BYTES} bytes.` },
    415: {
      when: 'The body is not NDJSON in UTF-8, or it is compressed.',
      message: 'The body must be JSON lines in UTF-8: send "Content-Type: application/x-ndjson".',
    },
  },
  handle: (context, request, response) =>
    withRecords(context, request, response, { ...NDJSON_BODY, maxBytes: MAX_BYTES, withinMs: RECORDS_MS }, async (body) => {
      const { on_refusal: onRefusal, check } = parseQuery(request.url, query);
      const abort = onRefusal === 'abort';
      const { lines, count } = await splitLines(body);
      const { credential } = authenticatedOf(response)!;
      const { signal, logFields } = stateOf(response);
      logFields.rows = lines.length;
      const { routed, errors } = await routeLines(lines, credential.organizationId, signal);
      if (abort && new Set(routed.map(({ type }) => type)).size > 1) {
        throw invalid('on_refusal', 'abort needs lines of one type; send one request for each type');
      }
      // A line that is refused here aborts all, but the client should learn of the lines that the service refuses, too.
      const storeNothing = check || (abort && errors.length > 0);
      await boundDeletions(context, response, routed, storeNothing);
      const dryRun = () => putRuns(context, response, routed, { abort: false, check: true });
      let result = await (storeNothing ? dryRun() : putRuns(context, response, routed, { abort, check: false }));
      // A service aborts as soon as it can, before it has looked for every error.
      if (abort && !storeNothing && result.errors.length > 0) result = await dryRun();
      const all = [...errors, ...result.errors].toSorted((a, b) => a.line - b.line);
      if (abort && all.length > 0) throw refusedLines(all, lines.length);
      sendJsonOnce(request, response, [Buffer.from(JSON.stringify(toResult(count, result, all)))]);
    }),
};

/** A check isn't charged, but has the same limit of a single request. */
async function boundDeletions(context: Context, response: Response, lines: RoutedLine[], isCheck: boolean): Promise<void> {
  const { rights, deleteLimit } = authenticatedOf(response)!.credential;
  // Without the right, the services refuse these lines.
  if (!rights.includes('delete')) return;
  const deletions = lines.filter(({ envelope }) => envelope.deleted === true).length;
  if (isCheck) requireWithinLimit(deletions, deleteLimit);
  else await chargeDeletions(context, response, deletions);
}

function refusedLines(errors: LineError[], lines: number): Refusal {
  const refused = new Set(errors.map(({ line }) => line)).size;
  const message = `${refused} of ${lines} lines were refused, and nothing was stored. \`details\` names them.`;
  const refusal = new Refusal(400, 'bad_request', message);
  refusal.details = errors;
  return refusal;
}

function toResult(lines: number, { accepted, unchanged }: PutResult, errors: LineError[]) {
  return { lines, accepted, unchanged, refused: errors.length, errors };
}

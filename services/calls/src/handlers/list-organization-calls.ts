import { callerScope } from '@crs/kit/data/scope';
import { invalid } from '@crs/kit/errors';
import { countFitting } from '@crs/records/feed/details';
import type { RecordContext } from '@crs/records/record-service';
import { renderList, toBytes } from '@crs/records/response-json';
import { rpc } from '@crs/kit/rpc/server';
import type { ListOrganizationCallsRequest, ListOrganizationCallsResponse } from '@crs/proto/crs/calls/v1/calls';
import { renderDetail, renderListItem } from '../domain/stored-json/index.ts';
import { fieldMaskOf, includeOf } from '../domain/view.ts';
import { callOf } from '../store/details.ts';
import { listCalls, listDetails, type CallsPage } from '../store/list-calls.ts';
import { nameSecretOf } from '../store/name-secrets.ts';

const MAX_PER_PAGE = 200;
const MAX_PER_PAGE_WITH_DETAILS = 50;

export function listOrganizationCalls({ db }: RecordContext) {
  return rpc(
    { organization: { rights: ['read'] } },
    async (request: ListOrganizationCallsRequest, call): Promise<ListOrganizationCallsResponse> => {
      const page = parse(request);
      const scope = callerScope(call);
      const { organization } = scope;
      const { allowedFields, anonymize } = call.identity;
      const mask = fieldMaskOf(allowedFields);
      if (!request.withDetails) {
        const rows = await db.read(scope, listCalls(organization, page));
        const listed = rows.filter(({ callId }) => callId !== null);
        const items = listed.map(({ listItemJson }) => renderListItem(listItemJson!, mask));
        return respond(items, listed, rows[0]!.total);
      }
      const view = { mask, include: includeOf(request) };
      const rows = await db.read(scope, listDetails(organization, page, { ...view, anonymize }));
      const listed = rows.filter(({ callId }) => callId !== null);
      const calls = listed.flatMap((row) => callOf(row) ?? []);
      if (calls.length < listed.length) {
        throw invalid(
          'per_page',
          `must be at most ${countFitting(listed)} here: the details of more calls are larger than 8 MiB`,
        );
      }
      const anonymizeWith = anonymize && calls.length > 0 ? await nameSecretOf(db, scope, undefined) : undefined;
      const items = calls.map((each) => renderDetail(each, { ...view, anonymizeWith }));
      return respond(items, listed, rows[0]!.total);
    },
  );
}

async function respond(
  items: Iterable<string>[],
  listed: { callId: string | null }[],
  totalItems: number,
): Promise<ListOrganizationCallsResponse> {
  return {
    itemsJson: await toBytes(renderList(items)),
    totalItems,
    itemCount: items.length,
    firstCallId: listed[0]?.callId ?? undefined,
    lastCallId: listed.at(-1)?.callId ?? undefined,
  };
}

function parse({ start, end, updatedSince, page, perPage, withDetails }: ListOrganizationCallsRequest): CallsPage {
  if (!start) throw invalid('start', 'is required');
  if (!end) throw invalid('end', 'is required');
  if (start >= end) throw invalid('start', 'must be before end');
  if (page < 1) throw invalid('page', 'must be at least 1');
  const max = withDetails ? MAX_PER_PAGE_WITH_DETAILS : MAX_PER_PAGE;
  if (perPage < 1 || perPage > max) throw invalid('per_page', `must be 1 to ${max}`);
  return { start, end, updatedSince, offset: (page - 1) * perPage, limit: perPage };
}

import { callerScope } from '@crs/kit/data/scope';
import { invalid } from '@crs/kit/errors';
import type { RecordContext } from '@crs/kit/product/record-service';
import { rpc } from '@crs/kit/rpc/server';
import type { ListOrganizationCallsRequest, ListOrganizationCallsResponse } from '@crs/proto/crs/calls/v1/calls';
import type { ListItem } from '../domain/columns.ts';
import { gateOf } from '../domain/fields.ts';
import { renderListItem } from '../domain/render.ts';
import { listCalls, listChangedCalls, type ListRow } from '../store/list-calls.ts';

const MAX_PER_PAGE = 200;

export function listOrganizationCalls({ db }: RecordContext) {
  return rpc(
    { organization: 'read' },
    async (request: ListOrganizationCallsRequest, call): Promise<ListOrganizationCallsResponse> => {
      const { range, page, updatedSince } = parse(request);
      const scope = callerScope(call);
      const statement = updatedSince
        ? listChangedCalls(scope.organization, range, updatedSince, page)
        : listCalls(scope.organization, range, page);
      const rows = await db.read(scope, statement);
      const gate = gateOf(call.identity.allowedFields);
      const items = rows.filter(isItem);
      return {
        itemsJson: Buffer.from(JSON.stringify(items.map((row) => renderListItem(row, gate)))),
        totalItems: rows[0]!.total,
        itemCount: items.length,
        firstCallId: items[0]?.callId,
        lastCallId: items.at(-1)?.callId,
      };
    },
  );
}

function isItem(row: ListRow): row is ListRow & ListItem {
  return row.callId !== null;
}

function parse({ start, end, updatedSince, page, perPage }: ListOrganizationCallsRequest) {
  if (!start) throw invalid('start', 'is required');
  if (!end) throw invalid('end', 'is required');
  if (start >= end) throw invalid('start', 'must be before end');
  if (page < 1) throw invalid('page', 'must be at least 1');
  if (perPage < 1 || perPage > MAX_PER_PAGE) throw invalid('per_page', `must be 1 to ${MAX_PER_PAGE}`);
  return { range: { start, end }, page: { offset: (page - 1) * perPage, limit: perPage }, updatedSince };
}

import { snakeCase } from '@crs/kit/data/column';
import { callerScope } from '@crs/kit/data/scope';
import { invalid } from '@crs/kit/errors';
import type { RecordContext } from '@crs/records/record-service';
import { readAsUser } from '@crs/records/visibility';
import { rpc } from '@crs/kit/rpc/server';
import { parseUuid, unstorable } from '@crs/kit/text';
import type { ListUserCallsRequest, ListUserCallsResponse } from '@crs/proto/crs/calls/v1/calls';
import type { UserListItem } from '../domain/columns.ts';
import { listUserCalls as list } from '../store/list-user-calls.ts';

const MAX_LIMIT = 100;
const TEXT_FILTERS = [
  ...(['callStatus', 'callType', 'country'] as const),
  ...(['jobTitleContains', 'organizationContains', 'sourceContains', 'segmentContains'] as const),
];

export function listUserCalls({ db, auth }: RecordContext) {
  return rpc({ user: ['calls:read'] }, async (request: ListUserCallsRequest, call): Promise<ListUserCallsResponse> => {
    const { mine, after, limit, ...filters } = request;
    if (limit < 1 || limit > MAX_LIMIT) throw invalid('limit', `must be 1 to ${MAX_LIMIT}`);
    const projectId = parseUuid(filters.projectId ?? '');
    if (filters.projectId !== undefined && projectId === undefined) {
      throw invalid('project_id', 'must be a UUID (8-4-4-4-12 hexadecimal digits)');
    }
    for (const name of TEXT_FILTERS) {
      const problem = unstorable(filters[name] ?? '');
      if (problem) throw invalid(snakeCase(name), problem);
    }
    const scope = callerScope(call);
    const read = (visible: string[]) =>
      db.read(
        scope,
        list(scope.organization, {
          userId: call.identity.userId,
          mine,
          visible,
          filters: { ...filters, projectId },
          after: after?.at ? { at: after.at, id: after.id } : null,
          // The extra row tells whether there is a next page.
          limit: limit + 1,
        }),
      );
    // A user sees every call that they conducted, whatever projects they see.
    const rows = mine ? await read([]) : await readAsUser(auth, call, (visible) => read([...visible.keys()]));
    const page = rows.slice(0, limit);
    const last = rows.length > limit ? page.at(-1) : undefined;
    return {
      callsJson: Buffer.from(JSON.stringify(page.map(toListItem))),
      next: last && { at: last.recency, id: last.callId },
    };
  });
}

function toListItem(row: UserListItem) {
  return {
    id: row.callId,
    call_status: row.callStatus,
    cost: row.cost,
    country: row.country,
    created_at: row.createdAt,
    date: row.date,
    duration_minutes: row.durationMinutes,
    job_title: row.jobTitle,
    name: row.name,
    organization: row.employer,
    rating: row.rating,
    segment: row.segment,
    source: row.source,
  };
}

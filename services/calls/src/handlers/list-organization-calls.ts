import { callerScope, type Scope } from '@crs/kit/data/scope';
import { invalid } from '@crs/kit/errors';
import type { RecordContext } from '@crs/records/record-service';
import type { OrganizationIdentity } from '@crs/kit/rpc/identity';
import { rpc } from '@crs/kit/rpc/server';
import type { ListOrganizationCallsRequest, ListOrganizationCallsResponse } from '@crs/proto/crs/calls/v1/calls';
import { renderList } from '../domain/render-lists.ts';
import { render } from '../domain/stored-json/index.ts';
import { toBytes } from '../domain/to-bytes.ts';
import { gateOf, includeOf } from '../domain/view.ts';
import { callOf, countFitting } from '../store/details.ts';
import { listCalls, listChangedCalls, listChangedDetails, listDetails } from '../store/list-calls.ts';
import { nameSecretOf } from '../store/name-secrets.ts';

const MAX_PER_PAGE = 200;
const MAX_PER_PAGE_WITH_DETAILS = 50;

export function listOrganizationCalls({ db }: RecordContext) {
  return rpc(
    { organization: 'read' },
    async (request: ListOrganizationCallsRequest, call): Promise<ListOrganizationCallsResponse> => {
      const asked = parse(request);
      const scope = callerScope(call);
      const { json, ids, total } = request.withDetails
        ? await readDetails(db, scope, call.identity, request, asked)
        : await readItems(db, scope, call.identity, asked);
      return {
        itemsJson: json,
        totalItems: total,
        itemCount: ids.length,
        firstCallId: ids[0],
        lastCallId: ids.at(-1),
      };
    },
  );
}

type Asked = ReturnType<typeof parse>;
type Db = RecordContext['db'];

interface Rendered {
  /** The array of items, as JSON. */
  json: Buffer;
  ids: string[];
  total: number;
}

async function readItems(db: Db, scope: Scope, identity: OrganizationIdentity, asked: Asked): Promise<Rendered> {
  const { range, page, updatedSince } = asked;
  const statement = updatedSince
    ? listChangedCalls(scope.organization, range, updatedSince, page)
    : listCalls(scope.organization, range, page);
  const rows = await db.read(scope, statement);
  const gate = gateOf(identity.allowedFields);
  const listed = rows.flatMap(({ callId, listItemJson }) => (callId === null ? [] : { callId, listItemJson: listItemJson! }));
  const json = await toBytes(renderList(listed.map((row) => render(row, { as: 'list item', gate }))));
  return { json, ids: listed.map(({ callId }) => callId), total: rows[0]!.total };
}

async function readDetails(
  db: Db,
  scope: Scope,
  identity: OrganizationIdentity,
  request: ListOrganizationCallsRequest,
  { range, page, updatedSince }: Asked,
): Promise<Rendered> {
  const { organization } = scope;
  const { allowedFields, anonymize } = identity;
  const view = { gate: gateOf(allowedFields), include: includeOf(request) };
  const statement = updatedSince
    ? listChangedDetails(organization, range, updatedSince, page, { ...view, anonymize })
    : listDetails(organization, range, page, { ...view, anonymize });
  const rows = await db.read(scope, statement);
  const listed = rows.filter((row) => row.listed !== null);
  const calls = listed.flatMap((row) => callOf(row) ?? []);
  if (calls.length < listed.length) {
    throw invalid('per_page', `must be at most ${countFitting(listed)} here: the details of more calls are larger than 8 MiB`);
  }
  const anonymizeWith = anonymize && calls.length > 0 ? await nameSecretOf(db, scope, undefined) : undefined;
  const json = await toBytes(renderList(calls.map((each) => render(each, { as: 'detail', ...view, anonymizeWith }))));
  return { json, ids: listed.map((row) => row.listed!), total: rows[0]!.total };
}

function parse({ start, end, updatedSince, page, perPage, withDetails }: ListOrganizationCallsRequest) {
  if (!start) throw invalid('start', 'is required');
  if (!end) throw invalid('end', 'is required');
  if (start >= end) throw invalid('start', 'must be before end');
  if (page < 1) throw invalid('page', 'must be at least 1');
  const max = withDetails ? MAX_PER_PAGE_WITH_DETAILS : MAX_PER_PAGE;
  if (perPage < 1 || perPage > max) throw invalid('per_page', `must be 1 to ${max}`);
  return { range: { start, end }, page: { offset: (page - 1) * perPage, limit: perPage }, updatedSince };
}

import { callerScope } from '@crs/kit/data/scope';
import { invalid, notFound } from '@crs/kit/errors';
import type { RecordContext } from '@crs/records/record-service';
import { readAsUser } from '@crs/records/visibility';
import { rpc } from '@crs/kit/rpc/server';
import { parseUuid, unstorable } from '@crs/kit/text';
import type { Entity, ListUserEntitiesRequest, ListUserEntitiesResponse } from '@crs/proto/crs/entities/v1/entities';
import { listEntities, type EntityQuery, type EntityRow } from '../store/list-entities.ts';

const MAX_LIMIT = 200;

export function listUserEntities({ db, auth }: RecordContext) {
  return rpc({ user: ['entities:read'] }, async (request: ListUserEntitiesRequest, call): Promise<ListUserEntitiesResponse> => {
    const query = parse(request);
    const scope = callerScope(call);
    const rows = await readAsUser(auth, call, async (visible) =>
      // One more row than the page tells whether there is a next page.
      visible.has(query.projectId)
        ? db.read(scope, listEntities(scope.organization, { ...query, limit: query.limit + 1 }))
        : undefined,
    );
    if (!rows) throw notFound('There is no project with this id that you can see.');
    const page = rows.slice(0, query.limit);
    const last = rows.length > query.limit ? page.at(-1) : undefined;
    return { entities: page.map(toEntity), next: last && { createdAt: last.createdAt, entityId: last.entityId } };
  });
}

function parse({ projectId, type, after, limit }: ListUserEntitiesRequest): EntityQuery {
  const id = parseUuid(projectId);
  if (!id) throw invalid('project_id', 'must be a UUID (8-4-4-4-12 hexadecimal digits)');
  if (limit < 1 || limit > MAX_LIMIT) throw invalid('limit', `must be 1 to ${MAX_LIMIT}`);
  const problem = type === undefined ? undefined : unstorable(type);
  if (problem) throw invalid('type', problem);
  return {
    projectId: id,
    type: type ?? null,
    after: after?.createdAt ? { createdAt: after.createdAt, entityId: after.entityId } : null,
    limit,
  };
}

function toEntity({ createdAt, entityId, entityType: type, ...row }: EntityRow): Entity {
  const present = Object.fromEntries(Object.entries({ ...row, type }).map(([field, value]) => [field, value ?? undefined]));
  return { ...(present as Omit<Entity, 'entityId' | 'createdAt'>), entityId, createdAt };
}

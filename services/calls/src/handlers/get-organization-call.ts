import { callerScope } from '@crs/kit/data/scope';
import { notFound } from '@crs/kit/errors';
import type { RecordContext } from '@crs/records/record-service';
import { toBytes } from '@crs/records/response-json';
import { rpc } from '@crs/kit/rpc/server';
import { CALL_ID } from '@crs/kit/text';
import type { GetOrganizationCallRequest, GetOrganizationCallResponse } from '@crs/proto/crs/calls/v1/calls';
import { renderDetail } from '../domain/stored-json/index.ts';
import { fieldMaskOf, includeOf } from '../domain/view.ts';
import { getCall } from '../store/get-call.ts';
import { nameSecretOf } from '../store/name-secrets.ts';

export function getOrganizationCall({ db }: RecordContext) {
  return rpc(
    { organization: { rights: ['read'] } },
    async (request: GetOrganizationCallRequest, call): Promise<GetOrganizationCallResponse> => {
      const scope = callerScope(call);
      const { allowedFields, anonymize } = call.identity;
      const view = { mask: fieldMaskOf(allowedFields), include: includeOf(request) };
      const [found] = CALL_ID.test(request.callId)
        ? await db.read(scope, getCall(scope.organization, request.callId, { ...view, anonymize }))
        : [];
      if (!found) throw notFound('There is no call with this id.');
      const anonymizeWith = anonymize ? await nameSecretOf(db, scope, found.nameSecret) : undefined;
      return { callJson: await toBytes(renderDetail(found, { ...view, anonymizeWith })) };
    },
  );
}

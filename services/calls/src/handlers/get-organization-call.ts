import { callerScope } from '@crs/kit/data/scope';
import { notFound } from '@crs/kit/errors';
import type { RecordContext } from '@crs/kit/product/record-service';
import { rpc } from '@crs/kit/rpc/server';
import { CALL_ID } from '@crs/kit/text';
import type { GetOrganizationCallRequest, GetOrganizationCallResponse } from '@crs/proto/crs/calls/v1/calls';
import type { Transcript } from '../domain/call.ts';
import { gateOf } from '../domain/fields.ts';
import { renderCall, type View } from '../domain/render.ts';
import { getCall } from '../store/get-call.ts';
import { ensureNameSecret } from '../store/name-secrets.ts';

export function getOrganizationCall({ db }: RecordContext) {
  return rpc(
    { organization: 'read' },
    async (request: GetOrganizationCallRequest, call): Promise<GetOrganizationCallResponse> => {
      const scope = callerScope(call);
      const gate = gateOf(call.identity.allowedFields);
      const include = { verbatim: !request.withoutVerbatim, redacted: !request.withoutRedacted, clean: !request.withoutClean };
      const kinds: Transcript['kind'][] = [];
      if (gate.has('transcripts.verbatim') && include.verbatim) kinds.push('verbatim');
      if (gate.has('transcripts.redacted') && include.redacted) kinds.push('redacted');
      const [found] = CALL_ID.test(request.callId)
        ? await db.read(scope, getCall(scope.organization, request.callId, kinds))
        : [];
      if (!found) throw notFound('There is no call with this id.');
      const secret = async () => found.nameSecret ?? db.transact(scope, (query) => ensureNameSecret(query, scope.organization));
      const anonymizeWith = call.identity.anonymize ? await secret() : undefined;
      const view: View = { gate, include, anonymizeWith };
      return { callJson: Buffer.from(JSON.stringify(renderCall(found, view))) };
    },
  );
}

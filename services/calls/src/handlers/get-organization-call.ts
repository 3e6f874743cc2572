import { callerScope } from '@crs/kit/data/scope';
import { notFound } from '@crs/kit/errors';
import { rpc } from '@crs/kit/rpc/server';
import { CALL_ID } from '@crs/kit/text';
import type { GetOrganizationCallRequest, GetOrganizationCallResponse } from '@crs/proto/crs/calls/v1/calls';
import type { Context } from '../context.ts';
import type { Transcript } from '../domain/call.ts';
import { gateOf } from '../domain/fields.ts';
import { renderCall, type View } from '../domain/render.ts';
import { getCall, toCall, type CallRow } from '../store/get-call.ts';
import { ensureNameSecret } from '../store/name-secrets.ts';

export function getOrganizationCall({ db }: Context) {
  return rpc(['organization'], async (request: GetOrganizationCallRequest, call): Promise<GetOrganizationCallResponse> => {
    const scope = callerScope(call);
    const gate = gateOf(call.identity.allowedFields);
    const include = { verbatim: !request.withoutVerbatim, redacted: !request.withoutRedacted, clean: !request.withoutClean };
    const kinds: Transcript['kind'][] = [];
    if (gate.verbatim && include.verbatim) kinds.push('verbatim');
    if (gate.redacted && include.redacted) kinds.push('redacted');
    const [found] = CALL_ID.test(request.callId)
      ? await db.read<CallRow>(scope, getCall(scope.organization, request.callId, kinds))
      : [];
    if (!found) throw notFound('There is no call with this id.');
    const { nameSecret, ...row } = found;
    const anonymizeWith = call.identity.anonymize ? (nameSecret ?? (await ensureNameSecret(db, scope))) : undefined;
    const view: View = { gate, include, anonymizeWith };
    return { callJson: Buffer.from(JSON.stringify(renderCall(toCall(row), view))) };
  });
}

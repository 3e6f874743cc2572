import { callerScope } from '@crs/kit/data/scope';
import { notFound } from '@crs/kit/errors';
import type { RecordContext } from '@crs/records/record-service';
import { readAsUser } from '@crs/records/visibility';
import { rpc } from '@crs/kit/rpc/server';
import { CALL_ID } from '@crs/kit/text';
import type { GetUserCallRequest, GetUserCallResponse } from '@crs/proto/crs/calls/v1/calls';
import { renderToolResult } from '../domain/stored-json/index.ts';
import { toBytes } from '../domain/response-json.ts';
import { getUserCall as get } from '../store/get-user-call.ts';

export function getUserCall({ db, auth }: RecordContext) {
  return rpc({ user: ['calls:read'] }, async (request: GetUserCallRequest, call): Promise<GetUserCallResponse> => {
    const scope = callerScope(call);
    const { callId, includeTranscript } = request;
    const read = async (visible: string[]) =>
      CALL_ID.test(callId)
        ? db.read(scope, get(scope.organization, call.identity.userId, visible, callId, includeTranscript))
        : [];
    // A user sees every call that they conducted, so only other calls need auth.
    const [conducted] = await read([]);
    const [row] = conducted ? [conducted] : await readAsUser(auth, call, (visible) => read([...visible.keys()]));
    if (!row) throw notFound('There is no call with this id that you can see.');
    const include = {
      ktas: request.includeKeyTakeaways,
      notes: request.includeNotes,
      qa: request.includeQa,
      summary: request.includeSummary,
      transcript: includeTranscript,
    };
    return { callJson: await toBytes(renderToolResult(row, include)) };
  });
}

import { callerScope } from '@crs/kit/data/scope';
import { notFound } from '@crs/kit/errors';
import type { RecordContext } from '@crs/records/record-service';
import { toBytes } from '@crs/records/response-json';
import { readAsUser } from '@crs/records/visibility';
import { rpc } from '@crs/kit/rpc/server';
import { CALL_ID } from '@crs/kit/text';
import type { GetUserCallRequest, GetUserCallResponse } from '@crs/proto/crs/calls/v1/calls';
import { renderToolResult } from '../domain/stored-json/index.ts';
import { getUserCall as selectUserCall } from '../store/get-user-call.ts';

export function getUserCall({ db, auth }: RecordContext) {
  return rpc({ user: ['calls:read'] }, async (request: GetUserCallRequest, rpcCall): Promise<GetUserCallResponse> => {
    const scope = callerScope(rpcCall);
    const { callId, includeTranscript } = request;
    // Text that can't be an id gets the same response as an unknown id.
    const read = async (projectIds: string[]) =>
      CALL_ID.test(callId)
        ? db.read(scope, selectUserCall(scope.organization, rpcCall.identity.userId, projectIds, callId, includeTranscript))
        : [];
    // Users always see the calls that they conducted. Only for other calls does auth have to say which projects they see.
    const [conducted] = await read([]);
    const [row] = conducted ? [conducted] : await readAsUser(auth, rpcCall, (projects) => read([...projects.keys()]));
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

import { scopeOf } from '@crs/kit/database';
import { notFound } from '@crs/kit/errors';
import { rpc } from '@crs/kit/grpc-server';
import { CALL_ID } from '@crs/kit/text';
import { readAsUser } from '@crs/kit/visibility';
import type { GetUserCallRequest, GetUserCallResponse } from '@crs/proto/crs/calls/v1/calls';
import type { Context } from '../context.ts';
import { renderUserCall } from '../domain/render-for-user.ts';
import { getUserCall as get, type UserCallDetailRow } from '../store/get-user-call.ts';

export function getUserCall({ db, auth }: Context) {
  return rpc(['user'], async (request: GetUserCallRequest, call): Promise<GetUserCallResponse> => {
    const scope = scopeOf(call);
    const { callId, includeTranscript } = request;
    const [row] = await readAsUser(auth, call, async (visible) =>
      CALL_ID.test(callId)
        ? db.read<UserCallDetailRow>(
            scope,
            get(scope.organization, call.identity.userId, [...visible.keys()], callId, includeTranscript),
          )
        : [],
    );
    if (!row) throw notFound('There is no call with this id that you can see.');
    const wanted = {
      keyTakeaways: request.includeKeyTakeaways,
      notes: request.includeNotes,
      qa: request.includeQa,
      summary: request.includeSummary,
      transcript: includeTranscript,
    };
    return { callJson: Buffer.from(JSON.stringify(renderUserCall(row, wanted))) };
  });
}

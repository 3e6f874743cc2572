import { callerScope } from '@crs/kit/data/scope';
import { invalid } from '@crs/kit/errors';
import { rpc } from '@crs/kit/rpc/server';
import { fold } from '@crs/kit/text';
import type { ResolveProfilesRequest, ResolveProfilesResponse } from '@crs/proto/crs/auth/v1/auth';
import type { Context } from '../context.ts';
import { requireText } from '../domain/settings.ts';
import { findUsersByEmail } from '../store/users.ts';

/** A lead and a hundred members. */
const MAX_EMAILS = 101;

export function resolveProfiles({ db }: Context) {
  return rpc({ organization: 'write' }, async (request: ResolveProfilesRequest, call): Promise<ResolveProfilesResponse> => {
    if (request.emails.length > MAX_EMAILS) throw invalid('emails', `must be at most ${MAX_EMAILS}`);
    for (const email of request.emails) requireText('emails', email, 0, Infinity);
    const scope = callerScope(call);
    const users = await db.read(scope, findUsersByEmail(scope.organization, request.emails.map(fold)));
    const enabled = users.filter((user) => user.disabledAt === null);
    return { profiles: enabled.map(({ userId, email, name }) => ({ userId, email, name: name ?? '' })) };
  });
}

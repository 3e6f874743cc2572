import { ServiceError } from '@crs/kit/errors';
import type { CallContext } from '@crs/kit/rpc/server';

/** The gateway has refused others with a sentence for people; here it is the wall. */
export function requireWriteSurface({ identity }: CallContext<'organization'>): void {
  if (!identity.writeSurface)
    throw new ServiceError('permission_denied', 'The organization is not enabled for the write surface.');
}

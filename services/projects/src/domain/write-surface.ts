import { ServiceError } from '@crs/kit/errors';
import type { CallContext } from '@crs/kit/rpc/server';

/** The gateway refuses such organizations earlier, with an explanation for people. This check is the one that no caller gets around. */
export function requireWriteSurface({ identity }: CallContext<'organization'>): void {
  if (!identity.writeSurface)
    throw new ServiceError('permission_denied', 'The organization is not enabled for the write surface.');
}

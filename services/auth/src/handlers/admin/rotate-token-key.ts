import { rpc } from '@crs/kit/rpc/server';
import type { RotateTokenKeyRequest, RotateTokenKeyResponse } from '@crs/proto/crs/auth/v1/admin';
import type { Context } from '../../context.ts';
import { everyOrganization } from '../../every-organization.ts';
import { operatorEntry } from '../../store/audit.ts';

export function rotateTokenKey({ db, accessTokens }: Context) {
  return rpc(['operator'], async (_request: RotateTokenKeyRequest, call): Promise<RotateTokenKeyResponse> => {
    return db.transact(everyOrganization(call), async (query) => {
      const keyId = await accessTokens.rotate(query);
      await query(operatorEntry(call.identity, 'token-key.rotate', keyId));
      return { keyId };
    });
  });
}

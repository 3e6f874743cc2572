import { rpc } from '@crs/kit/rpc/server';
import type { ListCallerKeysRequest, ListCallerKeysResponse } from '@crs/proto/crs/auth/v1/auth';
import type { Context } from '../context.ts';

export function listCallerKeys({ signer }: Context) {
  return rpc({ anyone: true }, async (_request: ListCallerKeysRequest): Promise<ListCallerKeysResponse> => {
    const keys = await signer.publicKeys();
    return { keys: [...keys].map(([keyId, publicJwk]) => ({ keyId, publicJwk })) };
  });
}

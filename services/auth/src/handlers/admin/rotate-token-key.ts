import { everyOrganization } from '../../every-organization.ts';
import { operatorRpc } from './operator-rpc.ts';

export const rotateTokenKey = operatorRpc<'rotateTokenKey'>(everyOrganization, async (_request, { accessTokens, transact }) =>
  transact(async (query, audit) => {
    const keyId = await accessTokens.rotate(query);
    await audit('token-key.rotate', keyId);
    return { keyId };
  }),
);

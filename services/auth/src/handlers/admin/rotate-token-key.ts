import { operatorRpc } from './operator-rpc.ts';

export const rotateTokenKey = operatorRpc<'rotateTokenKey'>(
  { action: 'token-key.rotate', roles: ['admin'], token: 'none', bound: false },
  async (_request, { accessTokens, transact }) =>
    transact(async (query, audit) => {
      const keyId = await accessTokens.rotate(query);
      await audit('token-key.rotate', keyId);
      return { keyId };
    }),
);

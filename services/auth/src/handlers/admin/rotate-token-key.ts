import { operatorRpc } from './operator-rpc.ts';

export const rotateTokenKey = operatorRpc<'rotateTokenKey'>(
  { action: 'signing-key.rotate', roles: ['admin'], token: 'none', bound: false },
  async (_request, { rings, transact }) =>
    transact(async (query, audit) => {
      const keyId = await rings.token_key.rotate(query);
      await audit('signing-key.rotate', keyId);
      return { keyId };
    }),
);

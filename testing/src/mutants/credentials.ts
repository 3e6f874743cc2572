import type { Mutation } from './mutation.ts';

const KEY_TEST = ['services/auth/test/authenticate-key.test.ts'];
const TOKEN_TEST = ['services/auth/test/tokens.test.ts'];
const IDENTITY = 'packages/kit/src/rpc/identity.ts';
const IDENTITY_TEST = ['packages/kit/src/rpc/identity.alone.test.ts'];

/** API keys, access tokens, sessions, caller tokens and client certificates. */
export const credentials: Mutation[] = [
  {
    name: 'an expired API key is accepted',
    file: 'services/auth/src/store/api-keys.ts',
    find: 'and (k.expires_at is null or k.expires_at > now())',
    replace: '',
    tests: KEY_TEST,
  },
  {
    name: 'gateways accept a revoked credential for a minute',
    file: 'packages/kit/src/http/credential-cache.ts',
    find: 'MAX_AGE_MS = 1_000;',
    replace: 'MAX_AGE_MS = 60_000;',
    tests: ['services/api-gateway/src/http/authentication.alone.test.ts'],
  },
  {
    name: 'a revoked access token is accepted',
    file: 'services/auth/src/store/consents.ts',
    find: 'where g.organization = $1 and g.grant_id = $2 and g.revoked_at is null and',
    replace: 'where g.organization = $1 and g.grant_id = $2 and',
    tests: TOKEN_TEST,
  },
  {
    name: 'a browser session survives the end of the sessions of its user',
    file: 'services/auth/src/sign-in/accounts.ts',
    find: 'user?.sessionVersion === sessionVersion ? user : undefined',
    replace: 'user',
    tests: ['services/auth/test/user-access.test.ts'],
  },
  {
    name: 'a service accepts caller tokens for other services',
    file: IDENTITY,
    find: 'const checks = { ...CHECKS, audience: [audienceOf(service), EVERY_SERVICE] };',
    replace: 'const checks = CHECKS;',
    tests: IDENTITY_TEST,
  },
  {
    name: 'a cached caller token is accepted after its expiry',
    file: IDENTITY,
    find: 'if (hit && hit.expires > Date.now()) return hit.identity;',
    replace: 'if (hit) return hit.identity;',
    tests: IDENTITY_TEST,
  },
  {
    name: "a caller token's signature isn't verified",
    file: IDENTITY,
    find: 'const { payload } = await jwtVerify<{ identity: Identity }>(token, key, checks);',
    replace: `const payload = JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString());`,
    tests: IDENTITY_TEST,
  },
  {
    name: 'every program may make every internal call',
    file: 'packages/kit/src/rpc/peer-check.ts',
    find: 'if (peers.admits(names, from)) return;',
    replace: 'if (names.length > 0) return;',
    tests: ['packages/kit/test/peers.test.ts'],
  },
];

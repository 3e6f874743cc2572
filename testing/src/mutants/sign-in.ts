import type { Mutation } from './mutation.ts';

const REFUSALS_TEST = ['services/auth/test/sign-in-refusals.test.ts'];
const FEDERATION = 'services/auth/src/sign-in/federation/federation.ts';
const FEDERATION_TEST = ['services/auth/test/federation-refusals.test.ts'];

/** The authorization server, sign-in through OpenID providers, and fetches of untrusted URLs. */
export const signIn: Mutation[] = [
  {
    name: 'PKCE is optional',
    file: 'services/auth/src/sign-in/provider.ts',
    find: 'pkce: { required: () => true },',
    replace: 'pkce: { required: () => false },',
    tests: REFUSALS_TEST,
  },
  {
    name: 'a redirect URI may be http on another host',
    file: 'services/auth/src/sign-in/clients.ts',
    find: `url.protocol === 'http:' && !LOOPBACK.has(url.hostname)`,
    replace: `url.protocol === 'http:' && url.hostname === ''`,
    tests: ['services/auth/test/sign-in-clients.test.ts'],
  },
  {
    name: 'an authorization code can be redeemed twice',
    file: 'services/auth/src/sign-in/adapter.ts',
    find: 'return consumed ? { ...payload, consumed } : payload;',
    replace: 'return payload;',
    tests: REFUSALS_TEST,
  },
  {
    name: 'a provider names another issuer than the configured one',
    file: 'services/auth/src/sign-in/federation/relying-party.ts',
    find: 'new URL(configuration.serverMetadata().issuer).href !== new URL(issuer).href',
    replace: `configuration.serverMetadata().issuer === ''`,
    tests: ['services/auth/src/sign-in/federation/relying-party.test.ts'],
  },
  {
    name: "another organization's provider gets the code of an organization's provider",
    file: FEDERATION,
    find: `request.params['organization'] !== organization`,
    replace: `request.params['organization'] === ''`,
    tests: FEDERATION_TEST,
  },
  {
    name: 'an e-mail that the provider has not verified links an account',
    file: 'services/auth/src/sign-in/federation/link.ts',
    find: 'if (email_verified === true) return undefined;',
    replace: 'if (email_verified !== false) return undefined;',
    tests: ['services/auth/test/email-proofs.test.ts'],
  },
  {
    name: 'a token is made long after the sign-in',
    file: 'services/auth/src/sign-in/connections.ts',
    find: 'signedInAt < FRESH_SECONDS',
    replace: 'signedInAt < 2 * FRESH_SECONDS',
    tests: ['services/auth/test/own-tokens.test.ts'],
  },
  {
    name: "a URL that contains a listed host passes for that host's metadata document",
    file: 'services/auth/src/store/consents.ts',
    find: "starts_with(${clientId}, 'https://') and ",
    replace: '',
    tests: ['services/auth/test/listed-clients.test.ts'],
  },
  {
    name: 'a private address can be fetched',
    file: 'packages/kit/src/http/guarded-fetch.ts',
    find: `if (parsed.range() !== 'unicast') return false;`,
    replace: `if (parsed.range() === 'loopback') return false;`,
    tests: ['packages/kit/test/guarded-fetch.test.ts'],
  },
];

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
    name: 'every client may use any port of its redirect URI',
    file: 'services/auth/src/sign-in/clients.ts',
    find: `isNative ? 'native' : 'web'`,
    replace: `'native'`,
    tests: ['services/auth/test/sign-in-clients.test.ts'],
  },
  {
    name: 'a redirect URI may be http on another host',
    file: 'services/auth/src/sign-in/clients.ts',
    find: `url.protocol === 'http:' && !LOOPBACK.has(url.hostname)`,
    replace: `url.protocol === 'http:' && url.hostname === ''`,
    tests: ['services/auth/test/sign-in-clients.test.ts'],
  },
  {
    name: 'two requests at once redeem the same code',
    file: 'services/auth/src/store/oidc-payloads.ts',
    find: 'and (consumed_at is null or ($3::integer > 0 and',
    replace: 'and ($3::integer = 0 or ($3::integer > 0 and',
    tests: REFUSALS_TEST,
  },
  {
    name: 'a code is redeemed again',
    file: 'services/auth/src/sign-in/adapter.ts',
    find: 'return consumed ? { ...payload, consumed } : payload;',
    replace: 'return payload;',
    tests: REFUSALS_TEST,
  },
  {
    name: 'a form is accepted from another sign-in',
    file: 'services/auth/src/sign-in/interactions.ts',
    find: 'this.#forms.check(visit.request, uid);',
    replace: '',
    tests: REFUSALS_TEST,
  },
  {
    name: 'a disabled user signs in by password',
    file: 'services/auth/src/sign-in/passwords.ts',
    find: ' || user.disabledAt) {',
    replace: ') {',
    tests: REFUSALS_TEST,
  },
  {
    name: 'passwords can be guessed without end',
    file: 'services/auth/src/sign-in/throttle.ts',
    find: 'row!.tries > throttle.tries ?',
    replace: 'row!.tries < 0 ?',
    tests: REFUSALS_TEST,
  },
  {
    name: 'a provider names another issuer than the configured one',
    file: 'services/auth/src/sign-in/federation/relying-party.ts',
    find: 'new URL(configuration.serverMetadata().issuer).href !== new URL(issuer).href',
    replace: `configuration.serverMetadata().issuer === ''`,
    tests: FEDERATION_TEST,
  },
  {
    name: "another organization's provider gets the code of an organization's provider",
    file: FEDERATION,
    find: `request.params['organization'] !== organization`,
    replace: `request.params['organization'] === ''`,
    tests: FEDERATION_TEST,
  },
  {
    name: "a provider's response with another state is accepted",
    file: FEDERATION,
    find: `parameters.get('state') !== pending.state`,
    replace: `pending.state === ''`,
    tests: FEDERATION_TEST,
  },
  {
    name: 'an e-mail that the provider has not verified links an account',
    file: 'services/auth/src/sign-in/federation/link.ts',
    find: 'if (email_verified === true) return undefined;',
    replace: 'if (email_verified !== false) return undefined;',
    tests: FEDERATION_TEST,
  },
  {
    name: "an e-mail of a domain that isn't the organization's links an account",
    file: 'services/auth/src/sign-in/federation/link.ts',
    find: `if (!domains.includes(fold(address).split('@')[1]!))`,
    replace: 'if (domains.length === 0)',
    tests: FEDERATION_TEST,
  },
  {
    name: 'a private address can be fetched',
    file: 'services/auth/src/sign-in/guarded-fetch.ts',
    find: `if (parsed.range() !== 'unicast') return false;`,
    replace: `if (parsed.range() === 'loopback') return false;`,
    tests: ['services/auth/test/guarded-fetch.test.ts'],
  },
  {
    name: "a fetch connects to an address that wasn't checked",
    file: 'services/auth/src/sign-in/guarded-fetch.ts',
    find: '{ lookup: pinned, agent }',
    replace: '{ agent }',
    tests: ['services/auth/test/guarded-fetch.test.ts'],
  },
];

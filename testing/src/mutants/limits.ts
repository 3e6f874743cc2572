import type { Mutation } from './mutation.ts';

const ADDRESS_TEST = ['packages/kit/src/http/address.test.ts'];

/** Rate limits. */
export const limits: Mutation[] = [
  {
    name: 'the last request that a limit admits is refused',
    file: 'packages/kit/src/limits/fixed-windows.ts',
    find: 'window.count + amount <= limit',
    replace: 'window.count + amount < limit',
    tests: ['services/rate-limit/test/service.test.ts'],
  },
  {
    name: 'a window stays closed for a millisecond after its stated reset',
    file: 'packages/kit/src/limits/fixed-windows.ts',
    find: 'window.endsAt <= now',
    replace: 'window.endsAt < now',
    tests: ['packages/kit/src/limits/fixed-windows.test.ts'],
  },
  {
    name: 'each key of an organization has a limit of its own',
    file: 'services/api-gateway/src/http/authentication.ts',
    find: `id: organizationId, rule`,
    replace: 'id: keyId, rule',
    tests: ['services/api-gateway/test/rate-limits.test.ts'],
  },
  {
    name: 'the users of an organization share a limit at the tools',
    file: 'services/tool-gateway/src/http/limits.ts',
    find: 'return `${organizationId}/${userId}`;',
    replace: 'return `${organizationId}/${userId.slice(0, 0)}`;',
    tests: ['services/tool-gateway/test/charges.test.ts'],
  },
  {
    name: 'tool calls are charged to the wider limit of other messages',
    file: 'services/tool-gateway/src/http/mcp.ts',
    find: '(tool ? chargeCall(options, user) : chargeMessage(options, user))',
    replace: 'chargeMessage(options, user)',
    tests: ['services/tool-gateway/test/charges.test.ts'],
  },
  {
    name: 'a client behind a proxy chooses its address',
    file: 'packages/kit/src/http/address.ts',
    find: 'hops.pop()',
    replace: 'hops.shift()',
    tests: ADDRESS_TEST,
  },
];

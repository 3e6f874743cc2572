import { beforeAll, describe, expect, it } from 'vitest';
import { sharedWorld, tenant, type World } from '@crs/testing/world';
import { ask, bearer, errorOf, LEGACY, MODERN, spoken, toolCall, type Answer } from './_requests.ts';

const ANN = 'ann@acme.example';

let world: World;
/**
 * Tokens of two users, one with a used-up limit (`exhausted`) and one with a high limit (`plenty`). Each has a token with every scope, and a
 * `narrow` one without the scope that the tool requires.
 */
const tokens: Record<string, string> = {};

beforeAll(async () => {
  world = await sharedWorld();
  for (const [name, requests] of Object.entries({ plenty: 100_000, exhausted: 1 })) {
    const organization = tenant(name);
    await world.load([
      { type: 'organization', id: organization, name: organization, tool_rate_limit: { requests, period_seconds: 86_400 } },
      { type: 'user', organization, email: ANN, name: 'Ann' },
    ]);
    tokens[name] = await bearer(world, organization, ANN);
    tokens[`${name} narrow`] = await bearer(world, organization, ANN, ['projects:read']);
  }
  await ask(world.stack.addresses.tools, spoken(LEGACY, toolCall('list_calls'), tokens['exhausted']));
});

/** A request under construction, so that several faults can be combined in it. */
interface Draft {
  organization: string;
  narrow: boolean;
  name: string;
  args: object;
  method: string;
  headers: Record<string, string | undefined>;
  /** Changes of the serialized body. */
  wrap: ((body: string) => string)[];
}

interface Fault {
  what: string;
  make: (draft: Draft, version: string) => void;
  shows: (answer: Answer) => unknown;
}

const status = ({ status: code }: Answer) => code;
const rpc = ({ status: code, json }: Answer) => [code, json.error?.code];

/** In the documented order of the checks (decisions, section 3). */
const FAULTS: (Fault & { expected: unknown })[] = [
  {
    what: 'a foreign origin',
    make: ({ headers }) => (headers['origin'] = 'https://evil.example'),
    shows: (answer) => [answer.status, answer.headers['www-authenticate']],
    expected: [403, undefined],
  },
  { what: 'a bad token', make: ({ headers }) => (headers['authorization'] = 'Bearer bad'), shows: status, expected: 401 },
  { what: 'a wrong method', make: (draft) => (draft.method = 'PUT'), shows: status, expected: 405 },
  { what: 'a wrong content type', make: ({ headers }) => (headers['content-type'] = 'text/plain'), shows: status, expected: 415 },
  {
    what: 'an unacceptable Accept header',
    make: ({ headers }) => (headers['accept'] = 'text/html'),
    shows: status,
    expected: 406,
  },
  {
    what: 'a body over 64 KiB',
    make: ({ wrap }) => wrap.push((body) => body + ' '.repeat(65_536)),
    shows: status,
    expected: 413,
  },
  { what: 'malformed JSON', make: ({ wrap }) => wrap.push((body) => body.slice(0, -1)), shows: rpc, expected: [400, -32700] },
  { what: 'a batch', make: ({ wrap }) => wrap.push((body) => `[${body}]`), shows: rpc, expected: [400, -32600] },
  {
    what: 'headers that contradict the body',
    make: ({ headers }, version) => {
      if (version === LEGACY) headers['mcp-protocol-version'] = '1999-01-01';
      else headers['mcp-method'] = 'tools/list';
    },
    shows: (answer) => [answer.status, [-32000, -32020].includes(answer.json.error?.code)],
    expected: [400, true],
  },
  { what: 'an unknown tool', make: (draft) => (draft.name = 'nope'), shows: rpc, expected: [200, -32602] },
  {
    what: 'a missing scope',
    make: (draft) => (draft.narrow = true),
    shows: ({ status: code, headers }) => [code, headers['www-authenticate']],
    expected: [403, expect.stringContaining('insufficient_scope')],
  },
  {
    what: 'a used-up rate limit',
    make: (draft) => (draft.organization = 'exhausted'),
    shows: (answer) => errorOf(answer).code,
    expected: 'rate_limited',
  },
  {
    what: 'bad arguments',
    make: (draft) => (draft.args = { limit: 0 }),
    shows: (answer) => errorOf(answer).message,
    expected: 'limit: must be at least 1',
  },
];

async function send(version: string, faults: Fault[]): Promise<Answer> {
  const draft: Draft = {
    organization: 'plenty',
    narrow: false,
    name: 'list_calls',
    args: {},
    method: 'POST',
    headers: {},
    wrap: [],
  };
  // Apply later faults first, because they change inner parts of the body.
  for (const { make } of faults.toReversed()) make(draft, version);
  const token = tokens[draft.organization + (draft.narrow ? ' narrow' : '')];
  const { headers, body } = spoken(version, toolCall(draft.name, draft.args), token);
  const bytes = draft.wrap.reduce((inner, wrap) => wrap(inner), JSON.stringify(body));
  return ask(world.stack.addresses.tools, { method: draft.method, headers: { ...headers, ...draft.headers }, body: bytes });
}

describe.each([LEGACY, MODERN])('a client of %s', (version) => {
  it('is served if nothing is wrong', async () => {
    expect((await send(version, [])).json.result.structuredContent).toEqual({ calls: [], next_cursor: null });
  });

  it.each(FAULTS.map((fault, n) => ({ ...fault, n })))(
    'gets the error for $what, whatever later faults the request has',
    async (fault) => {
      const after = FAULTS.slice(fault.n + 1);
      for (const later of [[], ...after.map((one) => [one]), after]) {
        const answer = await send(version, [fault, ...later]);
        expect(fault.shows(answer), `with ${later.map(({ what }) => what).join(', ') || 'nothing else'}`).toEqual(fault.expected);
      }
    },
  );
});

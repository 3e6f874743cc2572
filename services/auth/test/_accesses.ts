/** The kinds of access that a user has, and clients that send requests without pause. For deactivation.slow.test.ts. */
import { Agent } from 'node:http';
import { createToken } from '@crs/testing/credentials';
import type { Lane } from '@crs/testing/lanes';
import { MCP_HEADERS, toolCall } from '@crs/testing/mcp';
import { sendRequest } from '@crs/testing/send-request';
import { TOOLS_URL } from '@crs/testing/world';
import { ALPHA } from './_fixtures.ts';
import { authorizePath, Browser, connectAssistant, pkce, refresh, requestOwnToken, tokenOn, type Person } from './_sign-in.ts';

/** A text in the responses of all tools to a user who sees the project alpha. */
export const MARK = 'marked';

export interface Access {
  what: string;
  /** @returns false if the credential is refused @throws Error on any other failure */
  isServed: () => Promise<boolean>;
}

/** Each tool calls another service. */
const TOOLS: [string, object][] = [
  ['list_calls', { scope: 'all' }],
  ['list_projects', { scope: 'all' }],
  ['list_entities', { project_id: ALPHA }],
];

const agent = new Agent({ keepAlive: true });

/** Returns an access by each tool with the token. */
export function toolsWith(token: string, { tools }: Lane, name: string): Access[] {
  const headers = { ...MCP_HEADERS, host: new URL(TOOLS_URL).host, authorization: `Bearer ${token}` };
  return TOOLS.map(([tool, args]) => ({
    what: `${tool} with ${name}`,
    isServed: async () => {
      const options = { agent, method: 'POST', headers };
      const { status, body } = await sendRequest(`http://${tools}/mcp`, options, JSON.stringify(toolCall(tool, args)));
      // While a gateway still knows the token, the services already refuse its user.
      if (status === 401 || body.includes(String.raw`\"code\":\"unauthorized\"`)) return false;
      if (status === 200 && body.includes(MARK)) return true;
      throw new Error(`${tool}: ${status} ${body}`);
    },
  }));
}

export function restWith(key: string, { api }: Lane): Access {
  const path = '/v1/calls?start_date=2025-01-01T00:00:00Z&end_date=2026-01-01T00:00:00Z';
  return {
    what: 'a list with an API key',
    isServed: async () => {
      const { status, body } = await sendRequest(api + path, { agent, headers: { authorization: `Bearer ${key}` } });
      if (status === 200 && body.includes('a-call')) return true;
      throw new Error(`${path}: ${status} ${body}`);
    },
  };
}

/** Gives a person every kind of access through one lane. @returns the same accesses through the other lane */
export async function gainAccess(person: Person, through: Lane, other: Lane): Promise<Access[]> {
  const first = new Browser(through.tools);
  const { clientId, tokens } = await connectAssistant(first, person);
  const { page } = await first.open('/connections');
  const own = tokenOn(await requestOwnToken(first, page))!;
  const operators = await createToken(through.operator, person.organization, person.email);
  const browser = new Browser(other.tools);
  for (const [name, value] of first.cookies) browser.cookies.set(name, value);
  return [
    signedIn(browser, 'the list of connections', () => '/connections'),
    signedIn(browser, 'an authorization', () => authorizePath(clientId, pkce().challenge)),
    refreshing(browser, clientId, tokens.refresh_token),
    ...toolsWith(tokens.access_token, other, "a connection's token"),
    ...toolsWith(own, other, "a user's own token"),
    ...toolsWith(operators, other, "an operator's token"),
  ];
}

function signedIn(browser: Browser, what: string, path: () => string): Access {
  return {
    what: `${what} with the session's cookie`,
    isServed: async () => {
      const { page } = await browser.open(path());
      // An authorization that began before the user was deactivated ends with a page that says so.
      if (page.status === 400 && page.text.includes('This sign-in has ended')) return false;
      if (page.status >= 400) throw new Error(`${what}: ${page.status} ${page.text}`);
      return !page.text.includes('name="email"');
    },
  };
}

/** Each use of a refresh token returns the next one. */
function refreshing(browser: Browser, clientId: string, refreshToken: string): Access {
  let latest = refreshToken;
  return {
    what: 'a refresh token',
    isServed: async () => {
      const { status, body } = await refresh(browser, clientId, latest);
      if (body.error === 'invalid_grant') return false;
      if (status !== 200) throw new Error(`a refresh token: ${status} ${JSON.stringify(body)}`);
      latest = body.refresh_token;
      return true;
    },
  };
}

/** Has clients use these accesses one after another without pause during the work. @returns the number of uses, and the failed ones */
export async function underLoad<T>(clients: Access[][], work: () => Promise<T>) {
  const failures: string[] = [];
  let requests = 0;
  let stopped = false;
  const running = clients.map(async (accesses) => {
    for (let turn = 0; !stopped; turn++) {
      const { what, isServed } = accesses[turn % accesses.length]!;
      try {
        if (!(await isServed())) failures.push(`${what}: refused`);
      } catch (error) {
        failures.push(String(error));
      }
      requests++;
    }
  });
  try {
    const result = await work();
    return { result, requests, failures };
  } finally {
    stopped = true;
    await Promise.all(running);
  }
}

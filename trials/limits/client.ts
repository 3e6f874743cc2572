/** Clients that send requests that count against a rate limit, and record when each was admitted or refused. */
import { Agent } from 'node:http';
import { sendRequest } from '@crs/testing/send-request';
import { MCP_HEADERS, toolCall } from '@crs/testing/mcp';

/** The response to a request that counts against a limit. Times are epoch milliseconds. */
export interface LimitedResponse {
  /** When the request was sent. */
  sent: number;
  /** When its response was complete. */
  done: number;
  /** Admitted, refused by the limit, or a description of an unexpected response. */
  outcome: 'admitted' | 'refused' | { fault: string };
  /** The limit headers, which only REST sends. */
  limit?: number;
  remaining?: number;
  /** UTC epoch seconds. */
  reset?: number;
}

/** Sends one request that counts against the limit, over a persistent connection. Never throws. */
export type Client = (origin: string) => Promise<LimitedResponse>;

const agent = new Agent({ keepAlive: true, maxSockets: 2_000 });

/** A client that lists the billing offices of an organization, which has none. */
export function restClient(key: string): Client {
  return async (origin) => {
    const sent = Date.now();
    try {
      const options = { agent, headers: { authorization: `Bearer ${key}` } };
      const { status, headers, body } = await sendRequest(`${origin}/v1/billing-offices`, options);
      const done = Date.now();
      const [limit, remaining, reset] = ['limit', 'remaining', 'reset'].map((name) => Number(headers[`x-ratelimit-${name}`]));
      if (![limit, remaining, reset].every(Number.isInteger))
        return { sent, done, outcome: { fault: `${status} without limits` } };
      if (status === 429 && !/^[1-9]/.test(headers['retry-after'] ?? '')) {
        return { sent, done, outcome: { fault: '429 without Retry-After' } };
      }
      const outcome = status === 429 ? 'refused' : status === 200 || status === 404 ? 'admitted' : { fault: `${status} ${body}` };
      return { sent, done, outcome, limit: limit!, remaining: remaining!, reset: reset! };
    } catch (error) {
      return { sent, done: Date.now(), outcome: { fault: String(error) } };
    }
  };
}

const CALL = JSON.stringify(toolCall('list_projects', {}));

/** A client that calls a tool with a user's token. Tools have no limit headers; only refusals say when to retry. */
export function toolClient(token: string): Client {
  return async (origin) => {
    const sent = Date.now();
    try {
      const options = { agent, headers: { ...MCP_HEADERS, authorization: `Bearer ${token}` } };
      const { status, headers, body } = await sendRequest(`${origin}/mcp`, options, CALL);
      const done = Date.now();
      const result = status === 200 ? JSON.parse(body).result : undefined;
      if (result && !result.isError) return { sent, done, outcome: 'admitted' };
      const refused = result?.content[0].text.includes('"rate_limited"') && /^[1-9]/.test(headers['retry-after'] ?? '');
      if (!refused) return { sent, done, outcome: { fault: `${status} ${body}` } };
      return { sent, done, outcome: 'refused', reset: Math.ceil(done / 1_000) + Number(headers['retry-after']) };
    } catch (error) {
      return { sent, done: Date.now(), outcome: { fault: String(error) } };
    }
  };
}

/** Sends requests at a constant rate to the origins in turn, whether or not earlier ones have a response. */
export function offer(client: Client, origins: string[], perSecond: number): { stop(): Promise<LimitedResponse[]> } {
  const pending: Promise<LimitedResponse>[] = [];
  const startedAt = performance.now();
  const timer = setInterval(() => {
    const due = ((performance.now() - startedAt) / 1_000) * perSecond;
    while (pending.length < due) pending.push(client(origins[pending.length % origins.length]!));
  }, 5);
  return {
    stop: () => {
      clearInterval(timer);
      return Promise.all(pending);
    },
  };
}

import { Agent, request, type IncomingMessage } from 'node:http';

/** The answer to a request that counts against a limit. Times are epoch milliseconds. */
export interface Answer {
  sent: number;
  done: number;
  /** Admitted, refused by the limit, or an answer that must not come, in words. */
  outcome: 'admitted' | 'refused' | { fault: string };
  /** The limit headers, which only REST has. */
  limit?: number;
  remaining?: number;
  /** UTC epoch seconds. */
  reset?: number;
}

/** Sends one request that counts against the limit, over kept connections. Never throws. */
export interface Client {
  (origin: string): Promise<Answer>;
}

const agent = new Agent({ keepAlive: true, maxSockets: 2_000 });

/** A client that lists the billing offices of an organization, which has none. */
export function restClient(key: string): Client {
  return async (origin) => {
    const sent = Date.now();
    try {
      const { message, text } = await exchange(`${origin}/v1/billing-offices`, { authorization: `Bearer ${key}` });
      const done = Date.now();
      const [limit, remaining, reset] = ['limit', 'remaining', 'reset'].map((name) =>
        Number(message.headers[`x-ratelimit-${name}`]),
      );
      const status = message.statusCode!;
      if (![limit, remaining, reset].every(Number.isInteger))
        return { sent, done, outcome: { fault: `${status} without limits` } };
      if (status === 429 && !/^[1-9]/.test(message.headers['retry-after'] ?? '')) {
        return { sent, done, outcome: { fault: '429 without Retry-After' } };
      }
      const outcome = status === 429 ? 'refused' : status === 200 || status === 404 ? 'admitted' : { fault: `${status} ${text}` };
      return { sent, done, outcome, limit: limit!, remaining: remaining!, reset: reset! };
    } catch (error) {
      return { sent, done: Date.now(), outcome: { fault: String(error) } };
    }
  };
}

const CALL = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'list_projects', arguments: {} } });

/** A client that calls a tool with a user's token. The tools have no limit headers; only a refusal says after how many seconds to come back. */
export function toolClient(token: string): Client {
  return async (origin) => {
    const sent = Date.now();
    try {
      const headers = {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2025-11-25',
      };
      const { message, text } = await exchange(`${origin}/mcp`, headers, CALL);
      const done = Date.now();
      const result = message.statusCode === 200 ? JSON.parse(text).result : undefined;
      if (result && !result.isError) return { sent, done, outcome: 'admitted' };
      const refused = result?.content[0].text.includes('"rate_limited"') && /^[1-9]/.test(message.headers['retry-after'] ?? '');
      if (!refused) return { sent, done, outcome: { fault: `${message.statusCode} ${text}` } };
      return { sent, done, outcome: 'refused', reset: Math.ceil(done / 1_000) + Number(message.headers['retry-after']) };
    } catch (error) {
      return { sent, done: Date.now(), outcome: { fault: String(error) } };
    }
  };
}

function exchange(
  url: string,
  headers: Record<string, string>,
  body?: string,
): Promise<{ message: IncomingMessage; text: string }> {
  return new Promise((resolve, reject) => {
    request(url, { method: body === undefined ? 'GET' : 'POST', headers, agent }, (message) => {
      let text = '';
      message.setEncoding('utf8');
      message.on('data', (chunk: string) => (text += chunk));
      message.on('end', () => resolve({ message, text }));
      message.on('error', reject);
    })
      .on('error', reject)
      .end(body);
  });
}

/** Sends requests at a steady rate, whether or not earlier ones are answered, to each origin in turn. */
export function offer(client: Client, origins: string[], perSecond: number): { stop(): Promise<Answer[]> } {
  const pending: Promise<Answer>[] = [];
  const begun = performance.now();
  const timer = setInterval(() => {
    const due = ((performance.now() - begun) / 1_000) * perSecond;
    while (pending.length < due) pending.push(client(origins[pending.length % origins.length]!));
  }, 5);
  return {
    stop: () => {
      clearInterval(timer);
      return Promise.all(pending);
    },
  };
}

/** A system that sends webhooks to a receiver of the test, on a clock that the test moves. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { startWorld, type OwnWorld } from '@crs/testing/world';
import { Webhook } from 'standardwebhooks';
import { expect } from 'vitest';

export interface Received {
  id: string;
  headers: Record<string, string>;
  body: string;
}

export interface Change {
  type: string;
  call_id: string | null;
  changed_at: string;
}

export type Respond = (request: Received, response: ServerResponse) => void;

/** A receiver of any number of endpoints, by path. */
export class Receiver {
  readonly #server = createServer((request, response) => void this.#receive(request, response));
  readonly received = new Map<string, Received[]>();
  /** How each path responds; by default with 204. */
  readonly respond = new Map<string, Respond>();

  async start(): Promise<string> {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening');
    return this.host;
  }

  /** `host:port`. */
  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  urlOf(path: string): string {
    return `http://${this.host}/${path}`;
  }

  at(path: string): Received[] {
    return this.received.get(path) ?? [];
  }

  changesAt(path: string): Change[] {
    return this.at(path).flatMap(({ body }) => (JSON.parse(body) as { data: { changes: Change[] } }).data.changes);
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url!.slice(1);
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const headers = request.headers as Record<string, string>;
    const received = { id: headers['webhook-id']!, headers, body: Buffer.concat(chunks).toString() };
    this.received.set(path, [...this.at(path), received]);
    const respond = this.respond.get(path) ?? status(204);
    respond(received, response);
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

export const status =
  (code: number): Respond =>
  (_request, response) =>
    void response.writeHead(code).end();

export interface WebhookWorld {
  world: OwnWorld;
  receiver: Receiver;
  /** Moves the clock of webhooks. */
  pass: (ms: number) => void;
  create: (organization: string, path: string) => Promise<{ webhookId: string; secret: string }>;
  /** Waits until an endpoint has this number of recorded attempts, and no sender has a lease for it. */
  settled: (webhookId: string, attempts: number) => Promise<void>;
  close(): Promise<void>;
}

/** @param organizations are created */
export async function startWebhookWorld(
  organizations: string[],
  overrides: Parameters<typeof startWorld>[0] = {},
): Promise<WebhookWorld> {
  const receiver = new Receiver();
  const host = await receiver.start();
  let passed = 0;
  const webhooksOverrides = {
    now: () => new Date(Date.now() + passed),
    intervals: { feeds: 100, wait: 0, settings: 100, claims: 100 },
  };
  const world = await startWorld({ webhookAllowHosts: [host], webhooksOverrides, ...overrides });
  await world.load(organizations.map((id) => ({ type: 'organization', id, name: id })));
  return {
    world,
    receiver,
    pass: (ms) => void (passed += ms),
    create: async (organization, path) => {
      const { webhooks, operator } = world.operator;
      const { webhook, secret } = await webhooks().createWebhook({ url: receiver.urlOf(path) }, await operator(organization));
      return { webhookId: webhook!.webhookId, secret };
    },
    settled: (webhookId, attempts) =>
      eventually(async () => {
        const counted = async (rows: string) =>
          (await world.query(`select count(*)::int as n from ${rows} where webhook_id = $1`, [webhookId])).rows[0].n as number;
        const leases = await counted('(select webhook_id from webhooks.due where lease is not null) as leased');
        expect({ attempts: await counted('webhooks.deliveries'), leases }).toEqual({ attempts, leases: 0 });
      }),
    close: async () => {
      // First, because a sender that stops waits for its deliveries.
      receiver.close();
      await world.close();
    },
  };
}

export const call = (organization: string, id: string, fields: object = {}) => ({ type: 'call', organization, id, ...fields });

/** Waits until the assertion holds. */
export async function eventually(assertion: () => unknown, timeoutMs = 10_000): Promise<void> {
  const until = performance.now() + timeoutMs;
  for (;;) {
    try {
      await assertion();
      return;
    } catch (error) {
      if (performance.now() > until) throw error;
      await sleep(20);
    }
  }
}

/** Verifies the signature by the reference library, at the time that the message names. */
export function isSigned({ body, headers }: Received, secret: string): boolean {
  const webhook = new Webhook(secret);
  const timestamp = new Date(Number(headers['webhook-timestamp']) * 1000);
  const expected = webhook.sign(headers['webhook-id']!, timestamp, body);
  return headers['webhook-signature']!.split(' ').includes(expected);
}

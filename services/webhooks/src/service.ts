import { Encrypter } from '@crs/kit/data/encrypter';
import { Shutdown, type Runtime, type Service } from '@crs/kit/process/lifecycle';
import { client } from '@crs/kit/rpc/client';
import { FINISH_MS } from '@crs/kit/rpc/server';
import { AuthServiceService } from '@crs/proto/crs/auth/v1/auth';
import { FeedHeadsServiceService, FeedServiceService } from '@crs/proto/crs/feeds/v1/feeds';
import { openDatabase, serveAdmin } from '@crs/records/bootstrap';
import { createCallers } from '@crs/records/record-service';
import { migrations } from '../migrations/index.ts';
import type { WebhooksConfig } from './config.ts';
import type { Context } from './context.ts';
import { adminServices } from './handlers/index.ts';
import { ProgramTokens } from './program-tokens.ts';
import { INTERVALS, Sender, type Intervals } from './sender/sender.ts';

const TIMEOUT_MS = 5_000;

/** Replace the clock and the pauses between polls. For tests. */
export interface WebhooksOverrides {
  now?: () => Date;
  intervals?: Intervals;
}

/** Creates the webhook sender. It listens at `admin` for operators. */
export function createWebhooksService(
  config: WebhooksConfig,
  runtime: Runtime,
  { now = () => new Date(), intervals = INTERVALS }: WebhooksOverrides = {},
): Service<{ admin: string }> {
  const { log, tls } = runtime;
  const { secrets, credential, allowHosts, proxyUrl } = config;
  const shutdown = new Shutdown(log);
  return {
    async start() {
      const db = await openDatabase({ name: 'webhooks', migrations }, config, runtime, shutdown);
      const shared = { timeoutMs: TIMEOUT_MS, retry: true, tls };
      const auth = client(AuthServiceService, { ...shared, name: 'auth', address: config.authAddress });
      const feeds = client(FeedServiceService, { ...shared, name: 'calls', address: config.callsAddress });
      const heads = client(FeedHeadsServiceService, { ...shared, name: 'calls', address: config.callsAddress });
      shutdown.defer('clients', () => [auth, feeds, heads].forEach((each) => each.close()));
      const context: Context = {
        db,
        auth,
        feeds,
        heads,
        tokens: new ProgramTokens(auth, credential),
        encrypter: new Encrypter(secrets, 'webhook-secrets'),
        log,
        now,
        receivers: { allowHosts, httpOnLoopback: true, proxyUrl },
      };
      const sender = new Sender(context, intervals);
      shutdown.defer('sender', () => sender.stop(), FINISH_MS);
      const callers = { ...createCallers('webhooks', auth), db };
      const admin = await serveAdmin('webhooks', config.adminListen, runtime, callers, adminServices(context));
      shutdown.defer('listener', () => admin.stop(), FINISH_MS + 1_000);
      sender.start();
      return { admin: admin.address };
    },
    stop: () => shutdown.run(),
  };
}

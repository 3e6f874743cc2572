import { createServer } from 'node:http';
import { client } from '@crs/kit/rpc/client';
import { Closer, type Service, type Surroundings } from '@crs/kit/process/lifecycle';
import { RateLimiter } from '@crs/kit/limits/limiter';
import { AuthServiceService } from '@crs/proto/crs/auth/v1/auth';
import { CallsServiceService } from '@crs/proto/crs/calls/v1/calls';
import { ProjectsServiceService } from '@crs/proto/crs/projects/v1/projects';
import { createApp } from './app.ts';
import type { ApiGatewayConfig } from './config.ts';
import { buildDocs } from './docs/page.ts';
import { answerConnect } from '@crs/kit/http/connect';
import { answerContinue } from '@crs/kit/http/continue';
import { listen } from '@crs/kit/http/listener';
import { Credentials } from './http/credentials.ts';
import { answerParserErrors } from '@crs/kit/http/parser-errors';
import { addressSlots, tenantSlots } from '@crs/kit/http/slots';
import { entity } from './http/send.ts';
import { buildDocument } from './openapi/document.ts';
import { TABLES } from './routes/index.ts';

/** REST `/v1`: who asks, how often, and the translation to gRPC. It owns nothing. */
export function createApiGateway(config: ApiGatewayConfig, { log, tls }: Surroundings): Service<{ http: string }> {
  const closer = new Closer(log);
  return {
    async start() {
      const shared = { timeoutMs: config.readTimeoutMs, retry: true, tls };
      const auth = client(AuthServiceService, { ...shared, name: 'auth', address: config.authAddress });
      closer.defer('auth client', () => auth.close());
      const calls = client(CallsServiceService, { ...shared, name: 'calls', address: config.callsAddress });
      closer.defer('calls client', () => calls.close());
      const projects = client(ProjectsServiceService, {
        name: 'projects',
        address: config.projectsAddress,
        timeoutMs: config.writeTimeoutMs,
        retry: true,
        tls,
      });
      closer.defer('projects client', () => projects.close());
      const limiter = new RateLimiter({ address: config.rateLimitAddress, replicas: config.replicas, log, tls });
      closer.defer('rate-limit client', () => limiter.close());
      const limits = { limiter, addressLimit: config.addressLimit, trustedProxies: config.trustedProxies };
      const slots = tenantSlots(config.tenantConcurrency);
      closer.defer('slots', () => slots.close());
      const strangers = addressSlots('strangers');
      closer.defer('slots of strangers', () => strangers.close());
      const server = createServer({
        requireHostHeader: false,
        keepAliveTimeout: 65_000,
        headersTimeout: 20_000,
        requestTimeout: 30_000,
      });
      const drainMs = Math.max(config.readTimeoutMs, config.writeTimeoutMs) + 1_000;
      const { lameDuckMs } = config;
      const { address: http, stop } = await listen(server, { address: config.listen, lameDuckMs, drainMs });
      closer.defer('http listener', stop, lameDuckMs + drainMs + 1_000);

      // Only now is the address known that the document names; no request is read before this turn of the event loop ends.
      const publicUrl = config.publicUrl ?? `http://${http}`;
      const openapi = entity('application/json; charset=utf-8', Buffer.from(JSON.stringify(buildDocument(TABLES, publicUrl))));
      const app = createApp({ calls, projects, openapi }, buildDocs(TABLES, publicUrl), {
        ...limits,
        credentials: new Credentials(auth, strangers),
        slots,
        readTimeoutMs: config.readTimeoutMs,
        writeTimeoutMs: config.writeTimeoutMs,
        log,
      });
      server.on('request', app);
      // Answered as any other request; Node's own answer would lack our headers.
      server.on('checkExpectation', app);
      answerContinue(server);
      answerConnect(server, app);
      answerParserErrors(server, { ...limits, log, name: 'api-gateway', showLimits: true });
      return { http };
    },
    stop: () => closer.close(),
  };
}

import { Agent, createServer } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { client } from '@crs/kit/rpc/client';
import { answerConnect } from '@crs/kit/http/connect';
import { answerContinue } from '@crs/kit/http/continue';
import { listen } from '@crs/kit/http/listener';
import { answerParserErrors } from '@crs/kit/http/parser-errors';
import { addressSlots, tenantSlots } from '@crs/kit/http/slots';
import { Closer, type Service, type Surroundings } from '@crs/kit/process/lifecycle';
import { RateLimiter } from '@crs/kit/limits/limiter';
import { Seal } from '@crs/kit/data/seal';
import { AuthServiceService } from '@crs/proto/crs/auth/v1/auth';
import { CallsServiceService } from '@crs/proto/crs/calls/v1/calls';
import { EntitiesServiceService } from '@crs/proto/crs/entities/v1/entities';
import { ProjectsServiceService } from '@crs/proto/crs/projects/v1/projects';
import { createApp } from './app.ts';
import type { ToolGatewayConfig } from './config.ts';
import { Tokens } from './http/tokens.ts';

/** Four read-only tools at `/mcp`, each for one signed-in user. It owns nothing. */
export function createToolGateway(config: ToolGatewayConfig, { log, tls }: Surroundings): Service<{ http: string }> {
  const closer = new Closer(log);
  return {
    async start() {
      const shared = { timeoutMs: config.timeoutMs, retry: true, tls };
      const auth = client(AuthServiceService, { ...shared, name: 'auth', address: config.authAddress });
      closer.defer('auth client', () => auth.close());
      const calls = client(CallsServiceService, { ...shared, name: 'calls', address: config.callsAddress });
      closer.defer('calls client', () => calls.close());
      const projects = client(ProjectsServiceService, { ...shared, name: 'projects', address: config.projectsAddress });
      closer.defer('projects client', () => projects.close());
      const entities = client(EntitiesServiceService, { ...shared, name: 'entities', address: config.entitiesAddress });
      closer.defer('entities client', () => entities.close());
      const limiter = new RateLimiter({ address: config.rateLimitAddress, replicas: config.replicas, log, tls });
      closer.defer('rate-limit client', () => limiter.close());
      const limits = { limiter, addressLimit: config.addressLimit, trustedProxies: config.trustedProxies };
      const slots = tenantSlots(config.tenantConcurrency);
      closer.defer('slots', () => slots.close());
      const strangers = addressSlots('strangers');
      closer.defer('slots of strangers', () => strangers.close());
      const signInSlots = addressSlots('sign-in');
      closer.defer('slots of sign-in', () => signInSlots.close());
      const agent = tls ? new HttpsAgent({ keepAlive: true }) : new Agent({ keepAlive: true });
      closer.defer('auth http agent', () => agent.destroy());
      const app = createApp(
        { calls, projects, entities, cursors: new Seal(config.secret, 'cursors') },
        {
          ...limits,
          slots,
          signInSlots,
          signInLimit: config.signInLimit,
          signIn: config.authHttpAddress === undefined ? undefined : { address: config.authHttpAddress, agent, tls },
          tokens: new Tokens(auth, config.publicUrl, strangers),
          origins: { publicUrl: config.publicUrl, allowed: config.allowedOrigins, loopback: config.loopback },
          timeoutMs: config.timeoutMs,
          log,
        },
      );
      const server = createServer(
        { requireHostHeader: false, keepAliveTimeout: 65_000, headersTimeout: 20_000, requestTimeout: 30_000 },
        app,
      );
      // Answered as any other request; Node's own answers would lack our headers.
      server.on('checkExpectation', app);
      answerContinue(server);
      answerConnect(server, app);
      answerParserErrors(server, { ...limits, log, name: 'tool-gateway', showLimits: false });
      const drainMs = config.timeoutMs + 1_000;
      const { lameDuckMs } = config;
      const { address: http, stop } = await listen(server, { address: config.listen, lameDuckMs, drainMs });
      closer.defer('http listener', stop, lameDuckMs + drainMs + 1_000);
      return { http };
    },
    stop: () => closer.close(),
  };
}

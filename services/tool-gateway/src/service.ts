import { Agent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { Encrypter } from '@crs/kit/data/encrypter';
import { createGateway } from '@crs/kit/http/gateway';
import type { Service, Runtime } from '@crs/kit/process/lifecycle';
import { AuthServiceService } from '@crs/proto/crs/auth/v1/auth';
import { CallsServiceService } from '@crs/proto/crs/calls/v1/calls';
import { EntitiesServiceService } from '@crs/proto/crs/entities/v1/entities';
import { ProjectsServiceService } from '@crs/proto/crs/projects/v1/projects';
import { createApp } from './app.ts';
import type { ToolGatewayConfig } from './config.ts';
import { ScimTokens } from './http/scim.ts';
import { Tokens } from './http/tokens.ts';

/** Serves four read-only tools at `/mcp` on behalf of signed-in users. Owns no data. */
export function createToolGateway(config: ToolGatewayConfig, runtime: Runtime): Service<{ http: string }> {
  const { timeoutMs, publicUrl, authHttpAddress, signInLimit } = config;
  const { tls } = runtime;
  return createGateway(timeoutMs, config, runtime, (gateway) => {
    const { connect, shutdown, lookUps } = gateway;
    const auth = connect(AuthServiceService, { name: 'auth', address: config.authAddress, timeoutMs });
    const calls = connect(CallsServiceService, { name: 'calls', address: config.callsAddress, timeoutMs });
    const projects = connect(ProjectsServiceService, { name: 'projects', address: config.projectsAddress, timeoutMs });
    const entities = connect(EntitiesServiceService, { name: 'entities', address: config.entitiesAddress, timeoutMs });
    const agent = tls ? new HttpsAgent({ keepAlive: true }) : new Agent({ keepAlive: true });
    shutdown.defer('auth http agent', () => agent.destroy());
    const app = createApp(
      { calls, projects, entities, cursors: new Encrypter(config.secrets, 'cursors') },
      {
        ...gateway,
        signInLimit,
        signIn: authHttpAddress === undefined ? undefined : { address: authHttpAddress, agent, tls },
        tokens: new Tokens(auth, publicUrl, lookUps),
        scimTokens: new ScimTokens(auth, lookUps),
        origins: { publicUrl, host: new URL(publicUrl).host, allowed: config.allowedOrigins, loopback: config.loopback ?? false },
        timeoutMs,
      },
    );
    return () => app;
  });
}

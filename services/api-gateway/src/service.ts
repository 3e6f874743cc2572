import { createGateway } from '@crs/kit/http/gateway';
import type { Service, Runtime } from '@crs/kit/process/lifecycle';
import { AuthServiceService } from '@crs/proto/crs/auth/v1/auth';
import { CallsServiceService } from '@crs/proto/crs/calls/v1/calls';
import { ProjectsServiceService } from '@crs/proto/crs/projects/v1/projects';
import { createApp } from './app.ts';
import type { ApiGatewayConfig } from './config.ts';
import { buildDocs } from './docs/page.ts';
import { Credentials } from './http/authentication.ts';
import { entity } from './http/send.ts';
import { buildDocument } from './openapi/document.ts';

/** Creates the gateway of REST `/v1`, which authenticates and charges requests, and translates them to gRPC. It owns no data. */
export function createApiGateway(config: ApiGatewayConfig, runtime: Runtime): Service<{ http: string }> {
  const { readTimeoutMs, writeTimeoutMs } = config;
  return createGateway(Math.max(readTimeoutMs, writeTimeoutMs), config, runtime, (gateway) => {
    const { connect, lookUps } = gateway;
    const auth = connect(AuthServiceService, { name: 'auth', address: config.authAddress, timeoutMs: readTimeoutMs });
    const calls = connect(CallsServiceService, { name: 'calls', address: config.callsAddress, timeoutMs: readTimeoutMs });
    const projects = connect(ProjectsServiceService, {
      name: 'projects',
      address: config.projectsAddress,
      timeoutMs: writeTimeoutMs,
    });
    const credentials = new Credentials(auth, lookUps, runtime.log);
    return (address) => {
      const publicUrl = config.publicUrl ?? `http://${address}`;
      const document = buildDocument(publicUrl);
      const openapi = entity('application/json; charset=utf-8', Buffer.from(JSON.stringify(document)));
      const docs = buildDocs(document, { publicUrl, toolsUrl: config.toolsUrl });
      const options = { ...gateway, credentials, readTimeoutMs, writeTimeoutMs, publicUrl };
      return createApp({ calls, projects, openapi }, docs, options);
    };
  });
}

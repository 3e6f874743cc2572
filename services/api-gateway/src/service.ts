import { createGateway, type Gateway } from '@crs/kit/http/gateway';
import { FairQueue } from '@crs/kit/limits/fair-queue';
import type { Service, Runtime } from '@crs/kit/process/lifecycle';
import { AuthServiceService } from '@crs/proto/crs/auth/v1/auth';
import { CallsServiceService } from '@crs/proto/crs/calls/v1/calls';
import { EntitiesServiceService } from '@crs/proto/crs/entities/v1/entities';
import { FeedServiceService } from '@crs/proto/crs/feeds/v1/feeds';
import { ProjectsServiceService } from '@crs/proto/crs/projects/v1/projects';
import { createApp } from './app.ts';
import type { ApiGatewayConfig } from './config.ts';
import { buildDocs } from './docs/page.ts';
import { Credentials } from './http/authentication.ts';
import { entity } from './http/send.ts';
import { buildDocument } from './openapi/document.ts';
import { RecordsService } from './records/records-client.ts';
import { RECORDS_MS } from './routes/put-records.ts';

/** Creates the gateway of REST `/v1`, which authenticates and charges requests, and translates them to gRPC. It owns no data. */
export function createApiGateway(config: ApiGatewayConfig, runtime: Runtime): Service<{ http: string }> {
  const { readTimeoutMs, writeTimeoutMs } = config;
  const longestMs = Math.max(readTimeoutMs, writeTimeoutMs, RECORDS_MS);
  return createGateway(longestMs, config, runtime, (gateway) => {
    const { limiter, lookUps, shutdown } = gateway;
    const clients = connectAll(gateway, config, longestMs);
    const bodies = new FairQueue(BODIES);
    const smallBodies = new FairQueue({ ...BODIES, name: 'small bodies' });
    shutdown.defer('queues of bodies', () => [bodies, smallBodies].forEach((queue) => queue.close()));
    const credentials = new Credentials(clients.auth, lookUps, runtime.log);
    return (address) => {
      const publicUrl = config.publicUrl ?? `http://${address}`;
      const document = buildDocument(publicUrl);
      const openapi = entity('application/json; charset=utf-8', Buffer.from(JSON.stringify(document)));
      const docs = buildDocs(document, { publicUrl, toolsUrl: config.toolsUrl });
      const options = { ...gateway, credentials, readTimeoutMs, writeTimeoutMs, publicUrl };
      return createApp({ ...clients, limiter, bodies, smallBodies, openapi }, docs, options);
    };
  });
}

/** A body of records needs up to 64 MiB while it is read and passed on, so few are in memory at once. Waiting requests hold only what their sockets buffer. */
const BODIES = { name: 'bodies', total: 4, perKey: 1, waitingPerKey: 100, waitingTotal: 1_000 };

/** @param timeoutMs the longest deadline of a request; each call has the deadline of its own */
function connectAll({ connect }: Gateway, config: ApiGatewayConfig, timeoutMs: number) {
  const { authAddress, callsAddress, projectsAddress, entitiesAddress } = config;
  return {
    auth: connect(AuthServiceService, { name: 'auth', address: authAddress, timeoutMs }),
    calls: connect(CALLS, { name: 'calls', address: callsAddress, timeoutMs }),
    projects: connect(PROJECTS, { name: 'projects', address: projectsAddress, timeoutMs }),
    entities: connect(ENTITIES, { name: 'entities', address: entitiesAddress, timeoutMs }),
    // Clients of their own have connections of their own: other requests would wait behind 16 MiB of records on the same one.
    records: {
      auth: connect(RecordsService, { name: 'auth-records', address: authAddress, timeoutMs }),
      calls: connect(RecordsService, { name: 'calls-records', address: callsAddress, timeoutMs }),
      projects: connect(RecordsService, { name: 'projects-records', address: projectsAddress, timeoutMs }),
      entities: connect(RecordsService, { name: 'entities-records', address: entitiesAddress, timeoutMs }),
    },
  };
}

const CALLS = { ...CallsServiceService, ...FeedServiceService };
const PROJECTS = { ...ProjectsServiceService, ...FeedServiceService };
const ENTITIES = { ...EntitiesServiceService, ...FeedServiceService };

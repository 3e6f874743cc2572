import { createServer, createConnection, type AddressInfo, type Socket } from 'node:net';
import { client, type ServiceClient } from '@crs/kit/rpc/client';
import { createLogger } from '@crs/kit/process/log';
import { derivePassword, roleOf } from '@crs/kit/data/migration';
import { AuthServiceService } from '@crs/proto/crs/auth/v1/auth';
import { ProjectsServiceService } from '@crs/proto/crs/projects/v1/projects';
import { SECRET } from '@crs/testing/setup';
import type { World } from '@crs/testing/world';
import { createProjectsService } from '../src/service.ts';

export type ProjectsClient = ServiceClient<ProjectsServiceService>;

/** A client of a projects service, without a gateway and with a long timeout. */
export function projectsClient(address: string): ProjectsClient {
  return client(ProjectsServiceService, { name: 'projects', address, timeoutMs: 30_000, retry: false });
}

/** The caller token that a gateway gets for an API key. */
export async function callerToken(world: World, apiKey: string): Promise<string> {
  const auth = client(AuthServiceService, { name: 'auth', address: world.stack.addresses.auth, timeoutMs: 5_000, retry: false });
  try {
    return (await auth.authenticateKey({ apiKey, audiences: ['projects'] })).callerTokens['projects']!;
  } finally {
    auth.close();
  }
}

/** A relay between a service and auth that can be halted. */
export interface Line {
  address: string;
  halt(): void;
  goOn(): void;
  close(): void;
}

export async function lineTo(target: string): Promise<Line> {
  const [host = '', port = ''] = target.split(':');
  const sockets = new Set<Socket>();
  let halted = false;
  /** Writes and closes that wait for the end of the halt. */
  let held: (() => void)[] = [];
  const pass = (from: Socket, to: Socket) => {
    const when = (work: () => void) => (halted ? held.push(work) : work());
    from.on('data', (bytes) => when(() => to.write(bytes)));
    from.on('close', () => when(() => to.destroy()));
    from.on('error', () => {});
    sockets.add(from);
  };
  const server = createServer((near) => {
    const far = createConnection(Number(port), host);
    pass(near, far);
    pass(far, near);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    halt: () => {
      halted = true;
    },
    goOn: () => {
      halted = false;
      for (const work of held) work();
      held = [];
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

/** A second instance of the service on the same database. */
export async function startTwin(world: World, authAddress: string): Promise<{ projects: ProjectsClient; stop(): Promise<void> }> {
  const url = new URL(world.databaseUrl);
  url.username = roleOf('projects');
  url.password = derivePassword(SECRET, 'projects');
  const listeners = { listen: '127.0.0.1:0', adminListen: '127.0.0.1:0', maxConnections: 2 };
  const service = createProjectsService(
    { ...listeners, databaseUrl: url.href, authAddress },
    { log: createLogger('twin', { level: 'silent' }) },
  );
  const { grpc } = await service.start();
  const projects = projectsClient(grpc);
  return {
    projects,
    stop: async () => {
      projects.close();
      await service.stop();
    },
  };
}

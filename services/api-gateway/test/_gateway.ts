import { createConnection, createServer, type AddressInfo, type Socket } from 'node:net';
import { createLogger } from '@crs/kit/log';
import { restClient, type Rest } from '@crs/testing/rest';
import type { World } from '@crs/testing/world';
import type { ApiGatewayConfig } from '../src/config.ts';
import { createApiGateway } from '../src/service.ts';

export interface Gateway {
  /** `host:port` */
  address: string;
  rest: Rest;
  stop(): Promise<void>;
}

/** One more gateway of a world, with settings of its own. It logs to the world's log. */
export async function startGateway(world: World, settings: Partial<ApiGatewayConfig>): Promise<Gateway> {
  const { auth, calls, projects, rateLimit } = world.stack.addresses;
  const log = createLogger('api-gateway', { level: 'debug', destination: { write: (line) => void world.log.push(line) } });
  const service = createApiGateway(
    {
      listen: '127.0.0.1:0',
      authAddress: auth,
      callsAddress: calls,
      rateLimitAddress: rateLimit,
      replicas: 1,
      trustedProxies: [],
      addressLimit: { requests: 1_000_000, periodSeconds: 60 },
      projectsAddress: projects,
      readTimeoutMs: 5_000,
      writeTimeoutMs: 10_000,
      ...settings,
    },
    { log },
  );
  const { http: address } = await service.start();
  return { address, rest: restClient(`http://${address}`), stop: () => service.stop() };
}

/** A way to a service that can be closed, as if the service had died, and blocked, as if it hung. */
export interface Relay {
  address: string;
  close(): Promise<void>;
  /** At the address where it was. */
  open(): Promise<void>;
  block(): void;
}

export async function startRelay(target: string): Promise<Relay> {
  const [host = '', port = ''] = target.split(':');
  const ends = new Set<Socket>();
  const join = (from: Socket, to: Socket) => {
    ends.add(from);
    from.pipe(to);
    from.on('error', () => from.destroy());
    from.once('close', () => {
      ends.delete(from);
      to.destroy();
    });
  };
  const server = createServer((near) => {
    const far = createConnection(Number(port), host);
    join(near, far);
    join(far, near);
  });
  const listen = (at: number) => new Promise<void>((resolve) => server.listen(at, '127.0.0.1', resolve));
  await listen(0);
  const { port: own } = server.address() as AddressInfo;
  return {
    address: `127.0.0.1:${own}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const end of ends) end.destroy();
      }),
    open: () => listen(own),
    block: () => {
      for (const end of ends) end.unpipe().pause();
    },
  };
}

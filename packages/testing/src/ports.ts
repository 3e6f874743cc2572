import { createServer } from 'node:net';

// These ports are below the ones that a system gives to outgoing connections. Otherwise a connection could take the port of a process that is being restarted.
const FIRST_PORT = 10_240;
const LAST_PORT = 32_767;

/** Different ports of 127.0.0.1 on which nothing listens at this moment. */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = FIRST_PORT + Math.floor(Math.random() * (LAST_PORT - FIRST_PORT));
    const server = createServer();
    const free = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
    });
    if (free) ports.add(port);
  }
  return [...ports];
}

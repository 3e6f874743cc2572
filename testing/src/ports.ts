/** Free ports for tests that start servers. */
import { createServer, type Server } from 'node:net';

// Below the range of ephemeral ports: otherwise an outgoing connection could take the port of a process that is being restarted.
const FIRST_PORT = 10_240;
const BLOCK_SIZE = 256;
const BLOCKS = 88;

/** The ports reserved for this process that haven't been returned. None is returned twice, because a process may start to listen only later. */
const reserved: number[] = [];

/**
 * Returns distinct ports that are free on 127.0.0.1. As long as this process runs, no other one gets them from this function, even while nothing
 * listens on them.
 */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) {
    const port = reserved.pop();
    if (port === undefined) reserved.push(...(await reserveBlock()));
    else if (await isFree(port)) ports.push(port);
  }
  return ports;
}

/** Reserves a block of ports until this process ends, by listening on the first of them. @returns the others */
async function reserveBlock(): Promise<number[]> {
  const start = Math.floor(Math.random() * BLOCKS);
  for (let index = 0; index < BLOCKS; index++) {
    const first = FIRST_PORT + BLOCK_SIZE * ((start + index) % BLOCKS);
    const server = await listen(first);
    if (!server) continue;
    server.unref();
    // A script may end before the program that it starts listens on its port. The next process with this block should get another one.
    const skipped = Math.floor(Math.random() * (BLOCK_SIZE - 1));
    return Array.from({ length: BLOCK_SIZE - 1 }, (_, offset) => first + 1 + ((offset + skipped) % (BLOCK_SIZE - 1)));
  }
  throw new Error(`All blocks of ports are reserved: end other processes of tests that listen on ports from ${FIRST_PORT}.`);
}

async function isFree(port: number): Promise<boolean> {
  const server = await listen(port);
  if (!server) return false;
  await new Promise((resolve) => server.close(resolve));
  return true;
}

/** @returns undefined if the port is in use */
function listen(port: number): Promise<Server | undefined> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(undefined));
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}

import type { AddressInfo, Server } from 'node:net';
import { promisify } from 'node:util';
import type { Server as GrpcServer, ServerCredentials } from '@grpc/grpc-js';
import { splitHostPort } from './config.ts';

/** Makes an HTTP server listen on `host:port`; port 0 selects a free one. @returns the address with the actual port */
export async function bindHttp(server: Server, address: string): Promise<string> {
  const { host, port } = splitHostPort(address);
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve));
  return withPort(address, (server.address() as AddressInfo).port);
}

/** {@link bindHttp} for a gRPC server. */
export async function bindGrpc(server: GrpcServer, address: string, credentials: ServerCredentials): Promise<string> {
  return withPort(address, await promisify(server.bindAsync.bind(server))(address, credentials));
}

function withPort(address: string, port: number): string {
  return `${address.slice(0, address.lastIndexOf(':'))}:${port}`;
}

import type { AddressInfo, Server } from 'node:net';
import { promisify } from 'node:util';
import type { Server as GrpcServer, ServerCredentials } from '@grpc/grpc-js';
import { splitHostPort } from './config.ts';

/** Has an HTTP server listen at `host:port`; port 0 takes a free one. @returns the address with the port it got */
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

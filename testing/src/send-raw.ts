import { createConnection } from 'node:net';

/** Sends raw bytes to `host:port`, and reads until the server closes the connection. For requests that no HTTP client would send. */
export async function sendRaw(address: string, bytes: string | Buffer): Promise<string> {
  const [host = '', port = ''] = address.split(':');
  const socket = createConnection(Number(port), host);
  socket.setTimeout(10_000, () => socket.destroy(new Error('no answer')));
  socket.write(bytes);
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

import { once } from 'node:events';
import { connect } from 'node:net';

/** Sends commands to Redis over a new connection. @returns the responses. @throws Error if one of them is an error */
export async function redisCommand({ hostname, port }: URL, ...commands: string[]): Promise<string> {
  const socket = connect(Number(port), hostname);
  let responses = '';
  socket.setEncoding('utf8').on('data', (text: string) => (responses += text));
  socket.write([...commands, 'QUIT', ''].join('\r\n'));
  await once(socket, 'close');
  if (/^-/m.test(responses)) throw new Error(responses);
  return responses;
}

import { once } from 'node:events';
import { connect } from 'node:net';

/** Sends commands to Redis over a connection of their own. @returns its answers. @throws Error with an answer that is an error */
export async function redisCommand({ hostname, port }: URL, ...commands: string[]): Promise<string> {
  const socket = connect(Number(port), hostname);
  let answers = '';
  socket.setEncoding('utf8').on('data', (text: string) => (answers += text));
  socket.write([...commands, 'QUIT', ''].join('\r\n'));
  await once(socket, 'close');
  if (/^-/m.test(answers)) throw new Error(answers);
  return answers;
}

import { createClient } from 'redis';
import { credentialsOf, options, socket } from './connection.ts';

/** The URL of Redis with its credentials, or URLs of several nodes or Sentinels, separated by commas. */
export interface RedisAddress {
  url: string;
  /** The name under which Sentinels know the primary. Absent: the URLs are those of servers. */
  sentinel?: string | undefined;
  /** Is read for each new connection, and replaces the password in the URL. */
  passwordFile?: string | undefined;
}

/**
 * Asks the Sentinels, one after the other, for the primary.
 * @returns its URL, with the credentials of the Sentinels' URL
 * @throws Error if no Sentinel answers with an address
 */
export async function findPrimary(address: RedisAddress & { sentinel: string }): Promise<string> {
  const problems: unknown[] = [];
  for (const each of address.url.split(',')) {
    try {
      const [host, port] = await ask(new URL(each), address);
      const found = new URL(address.url.split(',')[0]!);
      found.hostname = host.includes(':') ? `[${host}]` : host;
      found.port = port;
      return found.href;
    } catch (error) {
      problems.push(error);
    }
  }
  throw new AggregateError(problems, `No Sentinel names a primary ${address.sentinel}.`, { cause: problems[0] });
}

async function ask(
  url: URL,
  { url: first, sentinel, passwordFile }: RedisAddress & { sentinel: string },
): Promise<[string, string]> {
  url.username = url.password = '';
  // By HELLO of RESP 3, a Sentinel with a password would refuse the connection itself.
  const client = createClient({ url: url.href, RESP: 2, socket, ...options });
  client.on('error', () => {});
  const getAddress = () => client.sendCommand<[string, string] | null>(['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', sentinel]);
  try {
    await client.connect();
    const found = await getAddress().catch(async (error: Error) => {
      if (!error.message.startsWith('NOAUTH')) throw error;
      await client.auth(await credentialsOf(first, passwordFile));
      return getAddress();
    });
    if (!found) throw new Error(`The Sentinel at ${url.host} doesn't know a primary ${sentinel}.`);
    return found;
  } finally {
    client.destroy();
  }
}

import { createServer } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import { bindHttp } from '../src/process/bind.ts';
import { callerOf, OK, startService } from './_service.ts';

const HOSTS = ['127.0.0.1', '[::1]'];
const portOf = (address: string) => address.slice(address.lastIndexOf(':') + 1);

it('a gRPC listener at :: serves IPv4 and IPv6, and reports the plain address of an IPv4 caller', async () => {
  const seen: string[] = [];
  const record = async (_request: unknown, { address }: { address: string }) => {
    seen.push(address);
    return OK;
  };
  const server = await startService(record, { address: '[::]:0' });
  for (const host of HOSTS) await callerOf(`${host}:${portOf(server.address)}`)();
  expect(seen).toEqual(['127.0.0.1', '::1']);
});

it('an HTTP listener at :: serves IPv4 and IPv6', async () => {
  const server = createServer((_request, response) => void response.end('here'));
  onTestFinished(() => void server.close());
  const address = await bindHttp(server, '[::]:0');
  for (const host of HOSTS) {
    const answer = await fetch(`http://${host}:${portOf(address)}`, { headers: { connection: 'close' } });
    expect(await answer.text()).toBe('here');
  }
});

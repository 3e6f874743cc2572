import { exchange } from '@crs/testing/exchange';
import { addressOf, crs, helm, kubectl, NAME, NAMESPACE, RELEASE, run } from './cluster.ts';
import { BACKENDS, IMAGE, image, packedChart, VALUES } from './release.ts';
import { ORGANIZATION } from './tenant.ts';
import { underLoad } from './under-load.ts';

const namespace = `${NAMESPACE}-neighbour`;
const LIMIT = 5;

/**
 * Installs the chart a second time, in another namespace, on the Redis of the first. Both have an organization of the same id, and the same release
 * name. The neighbour's small limit is reached there and nowhere else.
 */
export async function neighbour(): Promise<string> {
  const chart = await packedChart();
  let answers: number[] = [];
  const note = await underLoad(async () => {
    await run('kubectl', ['create', 'namespace', namespace], { shown: true });
    try {
      await helm(['install', 'backends', 'charts/backends', ...BACKENDS, '--wait', '--timeout', '5m'], { namespace });
      await shareRedis();
      const settings = ['--set', 'redis.existingSecret=shared-redis', '--set', 'defaults.replicaCount=1'];
      const args = ['install', RELEASE, chart, ...VALUES, ...image(IMAGE), ...settings, '--wait', '--timeout', '15m'];
      await helm(args, { namespace, shown: true });
      await helm(['test', RELEASE, '--timeout', '5m'], { namespace, shown: true });
      answers = await exhaust();
      await checkKeys();
    } finally {
      await run('kubectl', ['delete', 'namespace', namespace, '--wait'], { shown: true });
    }
  });
  return `the neighbour answered ${answers.join(' ')}; ${note}`;
}

/** The same Redis, by its name for other namespaces. */
async function shareRedis(): Promise<void> {
  const encoded = await kubectl(['get', 'secret', 'backends-redis', '--output', 'jsonpath={.data.REDIS_URL}']);
  const url = Buffer.from(encoded, 'base64').toString().replace('@backends-redis:', `@backends-redis.${NAMESPACE}:`);
  await kubectl(['create', 'secret', 'generic', 'shared-redis', `--from-literal=REDIS_URL=${url}`], { namespace });
}

/** Uses the neighbour's limit up. @returns the statuses of its answers */
async function exhaust(): Promise<number[]> {
  const create = ['org', 'create', ORGANIZATION, '--name', 'Neighbour', '--write-surface', 'on', '--rate-limit', `${LIMIT}/60`];
  await crs(create, undefined, namespace);
  const { key } = await crs<{ key: string }>(['key', 'create', '--org', ORGANIZATION, '--label', 'n'], undefined, namespace);
  const url = `${await addressOf('api-gateway', namespace)}/v1/billing-offices`;
  const statuses: number[] = [];
  // The first second of a window may admit a few more or fewer, if the window changes meanwhile.
  for (let sent = 0; sent < 2 * LIMIT; sent++) {
    statuses.push((await exchange(url, { headers: { authorization: `Bearer ${key}` } })).status);
  }
  if (statuses[0] !== 200 || !statuses.includes(429)) throw new Error(`The neighbour's limit: ${statuses.join(' ')}`);
  return statuses;
}

/** @throws Error where keys in Redis have another beginning than that of an installation, or one of both has none */
async function checkKeys(): Promise<void> {
  const scan = 'redis-cli --no-auth-warning -a "$REDIS_PASSWORD" --scan';
  const keys = (await kubectl(['exec', 'deploy/backends-redis', '--', 'sh', '-c', scan])).trim().split('\n');
  const prefixes = [NAMESPACE, namespace].map((of) => `${of}/${NAME}/`);
  const without = prefixes.filter((prefix) => !keys.some((key) => key.startsWith(prefix)));
  const strange = keys.filter((key) => !prefixes.some((prefix) => key.startsWith(prefix)));
  if (without.length + strange.length > 0) throw new Error(`No keys of ${without.join()}; strange keys: ${strange.join()}`);
}

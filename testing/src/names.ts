// Preloaded into the processes of a system with replicas. Resolves names under `crs.test` to the addresses of all ready replicas, like the name of a
// headless Service in Kubernetes. Reads the file CRS_TEST_NAMES, which contains {"name": ["address"]}, at each look-up.
import dns from 'node:dns';
import { readFile } from 'node:fs/promises';

type Found = { address: string; family: number };

async function find(hostname: string): Promise<Found[]> {
  const names = JSON.parse(await readFile(process.env['CRS_TEST_NAMES']!, 'utf8')) as Record<string, string[]>;
  const addresses = names[hostname] ?? [];
  if (addresses.length === 0) throw Object.assign(new Error(`getaddrinfo ENOTFOUND ${hostname}`), { code: 'ENOTFOUND' });
  return addresses.map((address) => ({ address, family: 4 }));
}

const { lookup, promises } = dns;
const { lookup: lookupAsync } = promises;
const isOurs = (hostname: string) => hostname.endsWith('.crs.test');

dns.promises.lookup = (async (hostname: string, options: dns.LookupAllOptions) =>
  isOurs(hostname) ? find(hostname) : lookupAsync(hostname, options)) as typeof lookupAsync;

dns.lookup = ((hostname: string, options: dns.LookupOptions, done: (...result: unknown[]) => void) => {
  if (!isOurs(hostname)) return lookup(hostname, options, done as never);
  find(hostname).then(
    (found) => (options.all ? done(null, found) : done(null, found[0]!.address, found[0]!.family)),
    (error: unknown) => done(error),
  );
}) as typeof lookup;

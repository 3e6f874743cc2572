/** Steps of the cluster trial that replace the certificates of the services, or their CA. */
import { X509Certificate } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { KUBELET_MS, kubectl, NAME, readSecret, SERVICES } from './cluster.ts';
import { say } from './report.ts';

const PARTS = [...SERVICES, 'crs'];
let runs = 0;

/** Renews all certificates: removes them from their Secrets, so that the CronJob's program issues new ones. Pods keep the old ones until then. */
export async function renew(): Promise<void> {
  const before = await fingerprints();
  for (const part of PARTS) await patch(`${part}-mtls`, { data: { 'tls.crt': '' } });
  await runRenewal();
  const after = await fingerprints();
  const same = after.filter((fingerprint) => before.includes(fingerprint));
  if (same.length > 0) throw new Error(`${same.length} certificates were not renewed`);
  await sleep(KUBELET_MS);
  await showReloads();
}

/** Replaces the CA in three runs of the CronJob. Waits between two runs only as long as the pods need; the longer waits of production are skipped. */
export async function replaceAuthority(): Promise<void> {
  const before = await authority();
  await patch('authority', { stringData: { replace: 'gradually' } });
  for (const step of [1, 2, 3]) {
    await runRenewal();
    await sleep(KUBELET_MS);
    if (step < 3) await patch('authority', { stringData: { settled: new Date(0).toISOString() } });
  }
  if ((await authority()) === before) throw new Error('the CA was not replaced');
  for (const part of PARTS) {
    if ((await secret(`${part}-mtls`))['ca.crt'] !== (await authority())) throw new Error(`${part} still trusts another CA`);
  }
  await showReloads();
}

async function runRenewal(): Promise<void> {
  runs += 1;
  const job = `renewal-${Date.now()}-${runs}`;
  await kubectl(['create', 'job', `--from=cronjob/${NAME}-tls-renewal`, job], { shown: true });
  await kubectl(['wait', '--for=condition=complete', `job/${job}`, '--timeout=5m']);
  await kubectl(['logs', `job/${job}`], { shown: true });
  await kubectl(['delete', 'job', job]);
}

function secret(name: string): Promise<Record<string, string>> {
  return readSecret(`${NAME}-${name}`);
}

async function authority(): Promise<string> {
  return (await secret('authority'))['ca.crt']!;
}

function fingerprints(): Promise<string[]> {
  return Promise.all(PARTS.map(async (part) => new X509Certificate((await secret(`${part}-mtls`))['tls.crt']!).fingerprint256));
}

function patch(name: string, change: object): Promise<string> {
  return kubectl(['patch', 'secret', `${NAME}-${name}`, '--type', 'merge', '--patch', JSON.stringify(change)]);
}

async function showReloads(): Promise<void> {
  say(await kubectl(['logs', `deploy/${NAME}-calls`, '--tail=3']));
}

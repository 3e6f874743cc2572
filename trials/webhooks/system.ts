import { connect } from '@crs/crs/connection';
import { load } from '@crs/testing/load';
import { freePorts } from '@crs/testing/ports';
import { PROCESS_NAMES } from '@crs/testing/processes';
import { OPERATOR_CREDENTIAL } from '@crs/testing/setup';
import { startFaultySystem } from '../faults/system.ts';
import { PythonVerifier } from './python-verifier.ts';
import { Receivers } from './receivers.ts';

export type WebhookSystem = Awaited<ReturnType<typeof startWebhookSystem>>;

/** Starts the system with webhooks, as processes, and a server of receivers. */
export async function startWebhookSystem() {
  const [port] = (await freePorts(1)) as [number];
  const { PYTHON } = process.env;
  const python = PYTHON === undefined ? undefined : new PythonVerifier(PYTHON);
  const receivers = new Receivers(port, python);
  await receivers.start();
  const system = await startFaultySystem({
    services: [...PROCESS_NAMES, 'webhooks'],
    relays: true,
    environments: { webhooks: { CRS_WEBHOOK_ALLOW_HOSTS: receivers.host } },
  });
  const operator = connect({ addresses: system.processes.admin, credential: OPERATOR_CREDENTIAL });
  return {
    ...system,
    receivers,
    python,
    operator,
    load: (records: object[]) => load(operator, records),
    /** Creates an endpoint and its receiver. */
    createEndpoint: async (organization: string, path: string) => {
      const receiver = receivers.add(path);
      const url = `http://${receivers.host}/${path}`;
      ({ secret: receiver.secret } = await operator.webhooks().createWebhook({ url }, await operator.operator(organization)));
      return receiver;
    },
    stop: async () => {
      operator.close();
      receivers.stop();
      await system.stop();
    },
  };
}

export const organizationLine = (id: string) => ({
  type: 'organization',
  id,
  name: id,
  rate_limit: { requests: 100_000_000, period_seconds: 60 },
});

export function percentile(values: number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

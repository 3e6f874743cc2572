import { helm, kubectl, NAME, RELEASE } from './cluster.ts';
import { IMAGE, image, packedChart, VALUES } from './release.ts';
import { say } from './report.ts';
import { startLoad, underLoad, until } from './under-load.ts';

const SERVICE = 'api-gateway';
const MOST = 4;
/** More than the autoscaler's target, and less than two cores serve without a queue. */
const CROWD_PER_SECOND = 30;
const QUIET_PER_SECOND = 5;
const AUTOSCALER = `services.${SERVICE}.autoscaling`;

/** As UPGRADING.md says: otherwise Kubernetes sets the field that Helm gives up to 1. */
async function giveReplicasAway(): Promise<void> {
  const metadata = { name: `${NAME}-${SERVICE}` };
  const manifest = { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec: { replicas: await replicas() } };
  await kubectl(['apply', '--server-side', '--field-manager=autoscaler', '--filename', '-'], { input: JSON.stringify(manifest) });
}

async function replicas(): Promise<number> {
  const output = await kubectl(['get', 'deployment', `${NAME}-${SERVICE}`, '--output', 'jsonpath={.status.readyReplicas}']);
  return Number(output);
}

/** Gives a gateway an autoscaler. A crowd makes it add pods; when the crowd has gone, the pods go while requests come on. */
export async function scale(): Promise<string> {
  const chart = await packedChart();
  const release = ['upgrade', RELEASE, chart, ...VALUES, ...image(IMAGE), '--wait', '--timeout', '15m'];
  const settings = ['enabled=true', `maxReplicas=${MOST}`, 'scaleDownStabilizationSeconds=15'];
  let most = 0;
  let crowd = '';
  const note = await underLoad(async () => {
    await giveReplicasAway();
    await helm([...release, ...settings.flatMap((setting) => ['--set', `${AUTOSCALER}.${setting}`])], { shown: true });
    const load = await startLoad(CROWD_PER_SECOND);
    let fault: unknown;
    await until('pods were added', async () => (most = Math.max(most, await replicas())) > 2, 240).catch(
      (error) => (fault = error),
    );
    const { failed, note: crowdNote } = await load.stop();
    crowd = crowdNote;
    say(await kubectl(['describe', 'hpa', `${NAME}-${SERVICE}`]));
    if (fault !== undefined) throw fault;
    if (failed > 0) throw new Error(`the crowd: ${crowd}`);
    await until('the added pods have gone', async () => (await replicas()) === 2, 300);
    await helm([...release, '--force-conflicts'], { shown: true });
  }, QUIET_PER_SECOND);
  return `2 to ${most} pods and back; crowd: ${crowd}; beside: ${note}`;
}

/**
 * The chart on a real cluster, from nothing to uninstalled: installation, `helm test`, outside clients, upgrade, rollback and the loss of pods under
 * load, and what remains. Prints a table and ends with 1 if anything failed.
 *
 * Usage: source <(deploy/cluster/env); node trials/cluster/scenario.ts [STEP...]
 * Needs kubectl, helm, and the images of `IMAGE` and `NEXT_IMAGE` (another tag, which may hold the same) where the cluster finds them.
 * With STEPs, only these: they go on with what earlier ones left.
 */
import { fileURLToPath } from 'node:url';
import { deletePods, renewCertificate, rollback, upgrade } from './disruptions.ts';
import { checkArrows } from './arrows.ts';
import { describePods, install, installLog, test, TLS, uninstall } from './release.ts';
import { report, type Step } from './report.ts';
import { restClient, seed, toolClients } from './tenant.ts';

const STEPS: [string, Step][] = [
  ['install from nothing', install],
  ['the install Job', installLog],
  ['pods under the restricted policy', describePods],
  ['network policies, enforced', checkArrows],
  ['helm test', test],
  ['a tenant, by crs in the cluster', seed],
  ['tools, by clients of others', toolClients],
  // Creates a project, which the clients before don't expect.
  ['REST, by a generated client', restClient],
  ['upgrade under load', upgrade],
  ['rollback under load', rollback],
  ['deletion of pods under load', deletePods],
  ...(TLS ? [['renewal of certificates under load', renewCertificate] satisfies [string, Step]] : []),
  ['uninstall', uninstall],
];

const chosen = process.argv.slice(2);
const unknown = chosen.filter((name) => !STEPS.some(([step]) => step === name));
if (unknown.length > 0) {
  process.stderr.write(`No such step: ${unknown.join(', ')}. There are:\n${STEPS.map(([step]) => `  ${step}\n`).join('')}`);
  process.exit(2);
}
process.chdir(fileURLToPath(new URL('../..', import.meta.url)));
const steps = chosen.length === 0 ? STEPS : STEPS.filter(([step]) => chosen.includes(step));
process.exitCode = (await report(steps)) ? 0 : 1;

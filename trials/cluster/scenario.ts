/**
 * Tests the chart on a real cluster: installation of the packed chart, `helm test`, third-party clients, an upgrade and a rollback, the loss of pods and new
 * certificates under load, organizations as a file, uninstallation, and plain manifests. Prints a table, and exits with 1 if a step failed.
 *
 * Usage: node trials/cluster/scenario.ts [STEP...]
 * Needs kubectl and helm with access to a cluster whose nodes this machine can reach, and the image `IMAGE` in a registry of the cluster.
 * With STEPs, runs only these, on the release that earlier steps left.
 */
import { fileURLToPath } from 'node:url';
import { checkConnections } from './connections.ts';
import { renew, replaceAuthority } from './certificates.ts';
import { renewDatabaseAuthority } from './database.ts';
import { plainManifests } from './plain.ts';
import { deletePods, describePods, install, installAgain, installLog, rollback, test, uninstall, upgrade } from './release.ts';
import { report, type ScenarioStep } from './report.ts';
import { restClient, seed, toolClients } from './tenant.ts';
import { mendTenant } from './tenants.ts';
import { replacesAll, underLoad } from './under-load.ts';
import { fromWorkstation } from './workstation.ts';

const STEPS: [string, ScenarioStep][] = [
  ['install from nothing', install],
  ['the install Job', installLog],
  ['the install Job again', installAgain],
  ['pods under the restricted policy', describePods],
  ['network policies, enforced', checkConnections],
  ['helm test', test],
  ['a tenant, by crs in the cluster', seed],
  ['crs outside the cluster, by its page', fromWorkstation],
  ['tools, by third-party clients', toolClients],
  // This step creates a project, which the previous clients don't expect.
  ['REST, by a generated client', restClient],
  ['upgrade under load', () => replacesAll(upgrade)],
  ['rollback under load', () => replacesAll(rollback)],
  ['deletion of pods under load', () => underLoad(deletePods)],
  ['renewal of certificates under load', () => underLoad(renew)],
  ['another authority under load', () => underLoad(replaceAuthority)],
  ['a renewed CA bundle under load', () => underLoad(renewDatabaseAuthority, 5_000)],
  ['a drifted tenant', mendTenant],
  ['uninstall', uninstall],
  ['plain manifests', plainManifests],
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

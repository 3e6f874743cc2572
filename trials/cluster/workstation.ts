/** Step of the cluster trial that runs `crs` outside the cluster, as an operator of its own, by the commands of services/crs/README.md. */
import { mkdtemp, readFile, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { crs, NAME, NAMESPACE, run } from './cluster.ts';
import { ORGANIZATION } from './tenant.ts';

const PAGE = 'services/crs/README.md';
const OPERATOR = 'workstation';

/** Lists organizations as a viewer, is refused a change, and is refused everything once revoked. */
export async function fromWorkstation(): Promise<string> {
  const folder = await checkout();
  const operator = await crs(['operator', 'create', OPERATOR, '--role', 'viewer']);
  await writeFile(join(folder, 'operator.json'), `${JSON.stringify(operator)}\n`, { mode: 0o600 });
  const commands = (await commandsOfPage()).replace(/^export NS=.*$/m, `export NS=${NAMESPACE} F=${NAME}`);
  // Only the first of these has the privilege, and the last no operator.
  const refused = (command: string) => `! npm run -s crs -- --operator operator.json ${command} 2>&1`;
  const script = [
    'set -e',
    `trap 'kill $(jobs -p)' EXIT`,
    commands,
    refused('org create other --name Other'),
    `kubectl -n $NS exec deploy/$F-crs -- crs operator revoke ${OPERATOR} --yes`,
    'sleep 1.5',
    refused('org list'),
  ].join('\n');
  const output = await run('bash', ['-c', `cd ${folder}\n${script}`], { shown: true });
  for (const expected of [ORGANIZATION, 'may not do this', 'revoked or expired'])
    if (!output.includes(expected)) throw new Error(`the output lacks "${expected}"`);
  return `as a viewer through port-forwards, by ${PAGE}; refused once revoked`;
}

/** Returns a directory in which `npm run crs` works, for files that the page writes. */
async function checkout(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'crs-workstation-'));
  for (const name of ['package.json', 'deploy']) await symlink(resolve(name), join(folder, name));
  return folder;
}

async function commandsOfPage(): Promise<string> {
  const [, section = ''] = (await readFile(PAGE, 'utf8')).split('### From a workstation\n');
  const [, commands] = /```sh\n(.*?)```/s.exec(section) ?? [];
  if (commands === undefined) throw new Error(`${PAGE} has no commands for a workstation`);
  return commands;
}

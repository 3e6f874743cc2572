/** Extracts the commands and queries of the runbooks, and runs them against a local system. */
import { execFile } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { RUNBOOKS } from '@crs/monitoring/runbooks';
import { INHERITED } from '@crs/testing/inherited';
import { OPERATOR_CREDENTIAL } from '@crs/testing/setup';
import { openSession } from '@crs/testing/sql';
import { programOf } from '@crs/testing/programs';
import type { Scene } from './scene.ts';

const CRS = programOf('crs');
const FOLDER = new URL(`../../${RUNBOOKS}`, import.meta.url);

/** The commands and queries of a runbook that an operator copies. */
export interface Runbook {
  name: string;
  /** Lines of `sh` blocks. */
  commands: string[];
  /** Lines of `promql` blocks, and metrics and expressions in the text. */
  queries: string[];
  /** SQL in the text. */
  statements: string[];
}

export async function readRunbooks(): Promise<Runbook[]> {
  const names = (await readdir(FOLDER)).filter((name) => name.startsWith('CallResearch'));
  return Promise.all(
    names.map(async (name) => {
      const page = await readFile(new URL(name, FOLDER), 'utf8');
      const linesOf = (language: string) =>
        [...page.matchAll(new RegExp(`^ *\`\`\`${language}\\n(.*?)\`\`\``, 'gms'))].flatMap(([, block]) =>
          block!.split('\n').flatMap((line) => line.trim() || []),
        );
      const inText = [...page.replaceAll(/^ *```.*?```/gms, '').matchAll(/`([^`]+)`/g)].map(([, code]) => code!);
      return {
        name,
        commands: linesOf('sh'),
        queries: [...linesOf('promql'), ...inText.filter((code) => /\b(crs|db|http|nodejs|rpc)_\w+/.test(code))],
        statements: inText.filter((code) => code.startsWith('select ')),
      };
    }),
  );
}

/** Prints the scene's logs for `kubectl logs`: one service's for `deploy/NAME`, the import's for `job/JOB`, otherwise all. */
const KUBECTL = `#!/bin/sh
for argument; do
  case $argument in
    job/JOB) exec cat "$LOGS/import.log" ;;
    deploy/crs-call-research-*) [ -e "$LOGS/\${argument#deploy/crs-call-research-}.log" ] && exec cat "$LOGS/\${argument#deploy/crs-call-research-}.log" ;;
  esac
done
exec cat "$LOGS"/*.log
`;

/**
 * Runs a runbook's command against a scene: `kubectl logs` on its log files, `crs`, `curl`, `psql` and `redis-cli` on its servers.
 * @returns the output. Undefined if the command needs the Kubernetes API, which a scene lacks
 * @throws Error if the command fails, or can't be run here
 */
export async function runCommand(command: string, { system, logs }: Scene): Promise<string | undefined> {
  if (/^kubectl (-n \$NS )?(get|describe|top|port-forward) /.test(command)) return undefined;
  if (command.startsWith('curl ')) {
    const { api, ops } = { api: system.processes.api, ops: `http://${system.processes.ops('calls')}` };
    const urls = command
      .match(/http:\S+/g)!
      .map((url) => url.replace('http://127.0.0.1:8080', api).replace('http://127.0.0.1:9090', ops));
    return (await Promise.all(urls.map(async (url) => (await fetch(url)).text()))).join('\n');
  }
  const sql = /^psql -c (["'])(.+)\1$/.exec(command)?.[2];
  if (sql !== undefined) return runStatement(sql, system.databaseUrl);
  const inToolbox = command.replace(/^kubectl -n \$NS exec deploy\/\$F-crs -- crs /, 'crs ');
  if (!/^kubectl -n \$NS logs |^redis-cli |^crs /.test(inToolbox)) throw new Error(`This can't be run here: ${command}`);
  await writeFile(join(logs, 'kubectl'), KUBECTL, { mode: 0o755 });
  await writeFile(join(logs, 'crs'), `#!/bin/sh\nexec '${process.execPath}' '${CRS}' "$@"\n`, { mode: 0o755 });
  const env = {
    ...INHERITED,
    PATH: `${logs}:${process.env['PATH']}`,
    LOGS: logs,
    F: 'crs-call-research',
    REDIS_URL: system.redis?.url,
    CRS_OPERATOR_CREDENTIAL: OPERATOR_CREDENTIAL,
    ...Object.fromEntries(
      Object.entries(system.processes.admin).map(([service, address]) => [`CRS_${service.toUpperCase()}_ADMIN_ADDRESS`, address]),
    ),
  };
  const { stdout } = await promisify(execFile)('sh', ['-c', inToolbox], { env, maxBuffer: 1e9 });
  return stdout;
}

/** @returns the rows as JSON */
export async function runStatement(sql: string, databaseUrl: string): Promise<string> {
  const session = await openSession(databaseUrl);
  try {
    return (await session.query(sql)).map((row) => JSON.stringify(row)).join('\n');
  } finally {
    await session.close();
  }
}

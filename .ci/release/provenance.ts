// Prints the SLSA provenance of a release (the predicate of https://slsa.dev/provenance/v1): its sources, builder and time.
//   node provenance.ts VERSION BASES...        each line of a file BASES is `IMAGE:TAG sha256:DIGEST`
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

const [version, ...bases] = process.argv.slice(2);
const { env } = process;
const source = env.SOURCE || 'urn:call-research';
const hash = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex');
const images = new Set(bases.flatMap((path) => readFileSync(path, 'utf8').trim().split('\n')));

const predicate = {
  buildDefinition: {
    buildType: `${source}/blob/main/docs/releases.md`,
    externalParameters: { version, ref: env.GITHUB_REF ?? 'local' },
    internalParameters: {},
    resolvedDependencies: [
      { uri: `git+${source}@${env.GITHUB_REF ?? 'local'}`, digest: { gitCommit: env.REVISION } },
      ...[...images].map((line) => {
        const [uri, digest] = line.split(' ');
        return { uri: `docker://${uri}`, digest: { sha256: digest!.replace('sha256:', '') } };
      }),
      ...[
        'pnpm-lock.yaml',
        '.ci/tools/go.sum',
        '.ci/release/tools/go.sum',
        '.ci/clients/requirements.txt',
        'deploy/local/pnpm/package-lock.json',
      ].map((path) => ({
        uri: path,
        digest: { sha256: hash(path) },
      })),
    ],
  },
  runDetails: {
    builder: { id: env.GITHUB_WORKFLOW_REF ? `${env.GITHUB_SERVER_URL}/${env.GITHUB_WORKFLOW_REF}` : 'urn:call-research:local' },
    metadata: {
      invocationId: env.GITHUB_RUN_ID
        ? `${source}/actions/runs/${env.GITHUB_RUN_ID}/attempts/${env.GITHUB_RUN_ATTEMPT}`
        : 'local',
      startedOn: env.STARTED,
      finishedOn: new Date().toISOString(),
    },
  },
};
process.stdout.write(`${JSON.stringify(predicate, null, 2)}\n`);

/** Step of the cluster trial that checks by real connections whether the cluster enforces the network policies. */
import { kubectl, NAME } from './cluster.ts';
import { IMAGE } from './release.ts';

const POSTGRES = 'backends-postgres:5432';
const REDIS = 'backends-redis:6379';
const to = (service: string, port: number) => `${NAME}-${service}:${port}`;

/** For each pod, the addresses that it must be able to reach, and those that it must not. */
const CONNECTIONS: { from: string; allowed: string[]; blocked: string[] }[] = [
  {
    from: 'crs',
    allowed: ['auth', 'projects', 'calls', 'entities', 'webhooks'].map((service) => to(service, 50052)),
    blocked: [to('calls', 50051), to('auth', 8082), to('rate-limit', 50051), to('calls', 9090), POSTGRES, REDIS],
  },
  {
    from: 'api-gateway',
    allowed: ['auth', 'projects', 'calls', 'entities', 'rate-limit'].map((service) => to(service, 50051)),
    blocked: [to('calls', 50052), to('auth', 8082), to('calls', 50053), POSTGRES, REDIS],
  },
  {
    from: 'tool-gateway',
    allowed: [...['auth', 'projects', 'calls', 'entities', 'rate-limit'].map((service) => to(service, 50051)), to('auth', 8082)],
    blocked: [to('auth', 50052), to('auth', 9090), POSTGRES, REDIS],
  },
  { from: 'calls', allowed: [to('auth', 50051), POSTGRES], blocked: [to('auth', 50052), to('projects', 50051), REDIS] },
  {
    from: 'webhooks',
    allowed: [to('auth', 50051), to('calls', 50051), POSTGRES],
    blocked: [to('auth', 50052), to('calls', 50052), to('projects', 50051), REDIS],
  },
  { from: 'rate-limit', allowed: [REDIS], blocked: [to('auth', 50051), POSTGRES] },
  {
    from: 'unrelated',
    allowed: [to('api-gateway', 80), to('tool-gateway', 80)],
    blocked: [
      to('calls', 50051),
      to('auth', 50052),
      to('auth', 8082),
      to('auth', 9090),
      to('rate-limit', 50051),
      to('entities', 9090),
    ],
  },
];

/** A program that connects to each `host:port` of its arguments, and prints which it reached as a JSON object. */
const PROBE = `
const connect = (target) => new Promise((resolve) => {
  const [host, port] = target.split(':');
  const socket = require('node:net').connect({ host, port: Number(port), timeout: 10_000 });
  socket.on('connect', () => { socket.destroy(); resolve([target, true]); });
  socket.on('timeout', () => { socket.destroy(); resolve([target, false]); });
  socket.on('error', () => resolve([target, false]));
});
Promise.all(process.argv.slice(1).map(connect)).then((all) => console.log(JSON.stringify(Object.fromEntries(all))));
`;

/** Checks that the network policies block and allow these connections. Fails if the cluster's network doesn't enforce policies. */
export async function checkConnections(): Promise<string> {
  await startUnrelatedPod();
  let checked = 0;
  const wrong: string[] = [];
  for (const { from, allowed, blocked } of CONNECTIONS) {
    const pod = from === 'unrelated' ? 'pod/unrelated' : `deploy/${NAME}-${from}`;
    const output = await kubectl(['exec', pod, '--', '/usr/local/bin/node', '--eval', PROBE, ...allowed, ...blocked]);
    const reached = JSON.parse(output) as Record<string, boolean>;
    wrong.push(...allowed.filter((target) => !reached[target]).map((target) => `${from} can't reach ${target}`));
    wrong.push(...blocked.filter((target) => reached[target]).map((target) => `${from} reaches ${target}`));
    checked += allowed.length + blocked.length;
  }
  await kubectl(['delete', 'pod', 'unrelated', '--grace-period=1']);
  if (wrong.length > 0) throw new Error(wrong.join(', '));
  return `${checked} connections allowed or blocked as expected`;
}

/** Starts a pod in the namespace that isn't part of the release. */
async function startUnrelatedPod(): Promise<void> {
  const manifest = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'unrelated' },
    spec: {
      automountServiceAccountToken: false,
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          name: 'unrelated',
          image: IMAGE,
          args: ['deploy/install/src/toolbox.ts'],
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
        },
      ],
    },
  };
  await kubectl(['delete', 'pod', 'unrelated', '--ignore-not-found', '--grace-period=1']);
  await kubectl(['apply', '--filename', '-'], { input: JSON.stringify(manifest) });
  await kubectl(['wait', '--for=condition=Ready', 'pod/unrelated', '--timeout=5m']);
}

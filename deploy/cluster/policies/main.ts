/**
 * Enforces NetworkPolicies on the node, which its bridge doesn't: follows pods, namespaces and policies through `kubectl`, and replaces one table
 * of the packet filter when something changes. `up` starts it. IPv4 only.
 */
import { execFile, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { rules, type Namespace, type Pod, type Policy } from './rules.ts';

interface Known<T> {
  path: string;
  objects: Map<string, T>;
}

const pods: Known<Pod> = { path: '/api/v1/pods', objects: new Map() };
const namespaces: Known<Namespace> = { path: '/api/v1/namespaces', objects: new Map() };
const policies: Known<Policy> = { path: '/apis/networking.k8s.io/v1/networkpolicies', objects: new Map() };

let applied = '';
let timer: NodeJS.Timeout | undefined;

/** Changes come in flocks. */
function changed(): void {
  timer ??= setTimeout(() => {
    timer = undefined;
    const table = rules({
      pods: [...pods.objects.values()],
      namespaces: [...namespaces.objects.values()],
      policies: [...policies.objects.values()],
    });
    if (table === applied) return;
    const nft = execFile('nft', ['--file', '-'], (error) => {
      if (error) process.stderr.write(`${error.message}\n${table}\n`);
      else applied = table;
    });
    nft.stdin!.end(table);
  }, 50);
}

/** Follows objects for ever. A watch that ends, as each does after some minutes, begins anew with what there is. */
async function follow<T extends { metadata: { name: string } }>({ path, objects }: Known<T>): Promise<never> {
  for (;;) {
    const seen = new Map<string, T>();
    const watch = spawn(
      'kubectl',
      ['get', '--raw', `${path}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    let complete = false;
    for await (const line of createInterface({ input: watch.stdout })) {
      const { type, object } = JSON.parse(line) as { type: string; object: T & { metadata: { namespace?: string } } };
      const key = `${object.metadata.namespace ?? ''}/${object.metadata.name}`;
      // The first bookmark says that all there was has been told.
      if (type === 'BOOKMARK' && !complete) {
        complete = true;
        objects.clear();
        for (const [name, one] of seen) objects.set(name, one);
      } else if (type === 'ADDED' || type === 'MODIFIED') (complete ? objects : seen).set(key, object);
      else if (type === 'DELETED') (complete ? objects : seen).delete(key);
      if (complete) changed();
    }
    await sleep(500);
  }
}

await Promise.all([follow(pods), follow(namespaces), follow(policies)]);

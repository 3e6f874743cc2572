import { expect, it } from 'vitest';
import { NodeQueues } from './citus-nodes.ts';
import { credentialScope, directoryScope, workFor } from './scope.ts';

/** Queues for a pool of four connections. The first letter of an organization's name is the node that stores it. */
function createQueues() {
  const sizes = { name: 'test', perKey: 2, total: 4, waitingPerKey: 10, waitingTotal: 10 };
  return new NodeQueues(sizes, async (organization) => organization.charAt(0));
}

const scopeOf = (organization: string) => credentialScope(organization, workFor(5_000));

it('a node that hangs occupies at most three quarters of the connections', async () => {
  const queues = createQueues();
  const held = await Promise.all(['a1', 'a2', 'a3'].map((organization) => queues.acquire(scopeOf(organization))));
  const admitted: string[] = [];
  const fourth = queues.acquire(scopeOf('a4')).then(() => admitted.push('a4'));
  await queues.acquire(scopeOf('b1'));
  expect(admitted).toEqual([]);
  held[0]!();
  await fourth;
  queues.close();
});

it('work that belongs to no organization does not queue for a node', async () => {
  expect(await createQueues().acquire(directoryScope(workFor(5_000)))).toBeUndefined();
});

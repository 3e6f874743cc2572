import { expect, it } from 'vitest';
import { RequestQueue } from './request-queue.ts';

/** Above an organization's default rate limit, because all requests that the limit admits may arrive at once. */
const WAITING = 1_000;

it('the queue holds a thousand waiting requests of one organization, and refuses further ones as overload', async () => {
  const queue = new RequestQueue({ concurrency: 1, perKey: 1, tenantMetrics: false });
  const held = Promise.withResolvers<void>();
  const run = (key: string) => queue.run(key, { deadline: Date.now() + 60_000 }, () => held.promise);
  const all = Array.from({ length: 1 + WAITING + 2 }, () => run('acme'));
  const other = run('globex');
  const outcomes = Promise.allSettled(all);
  await Promise.allSettled(all.slice(-2));
  held.resolve();
  expect((await outcomes).map(({ status }) => status)).toEqual([
    ...Array.from({ length: 1 + WAITING }, () => 'fulfilled'),
    'rejected',
    'rejected',
  ]);
  await expect(all.at(-1)).rejects.toMatchObject({ kind: 'resource_exhausted', reason: 'OVERLOADED' });
  await other;
  queue.close();
});

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { ServiceError } from '../errors.ts';
import type { Check, RateLimiter } from '../limits/limiter.ts';
import { CredentialCache } from './credential-cache.ts';
import { LookUps } from './look-ups.ts';
import { RequestQueue } from './request-queue.ts';

const REFUSED = 100;

it('the cache keeps only the digest and the refusal of a refused credential in memory', async () => {
  const errors: WeakRef<Error>[] = [];
  const ask = async (): Promise<never> => {
    const error = new ServiceError('unauthenticated', 'unknown', { reason: 'INVALID_API_KEY' });
    errors.push(new WeakRef(error));
    throw error;
  };
  const limiter = { isUsedUp: () => false } as unknown as RateLimiter;
  const cache = new CredentialCache(
    ask,
    new LookUps(limiter, new RequestQueue({ concurrency: 8, perKey: 32, tenantMetrics: false })),
  );
  const check: Check = { kind: 'address', id: '127.0.0.1', rule: { requests: 60, periodSeconds: 60 } };
  const request = { deadline: Date.now() + 5_000, check };
  const refusalOf = (n: number) =>
    cache.get(`digest ${n}`, `credential ${n}`, request).then(
      () => 'none',
      ({ kind, message, reason }: ServiceError) => [kind, message, reason].join(),
    );
  const first: string[] = [];
  for (let n = 0; n < REFUSED; n++) first.push(await refusalOf(n));
  // A retained error would, through its stack, retain the arguments of the calls: credentials and buffers.
  setFlagsFromString('--expose-gc');
  await new Promise((resolve) => setTimeout(resolve, 0));
  (runInNewContext('gc') as () => void)();
  expect(errors.filter((error) => error.deref() !== undefined).length).toBeLessThan(REFUSED / 10);
  // The refusal is repeated from the cache, with the same words.
  expect(await refusalOf(REFUSED - 1)).toBe(first.at(-1));
  expect(first[0]).toBe('unauthenticated,unknown,INVALID_API_KEY');
  expect(errors).toHaveLength(REFUSED);
});

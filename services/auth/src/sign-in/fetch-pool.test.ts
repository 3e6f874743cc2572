import { expect, it } from 'vitest';
import { FetchesBusy, FetchPool, isBusy } from './fetch-pool.ts';

const LIMITS = { total: 4, perKey: 3, urlsPerKey: 2 };

/** A pool whose fetches end when a test ends them. */
function start() {
  const pool = new FetchPool(LIMITS);
  const begun: string[] = [];
  const ends: ((failure?: Error) => void)[] = [];
  const fetch = (key: string, url?: string) => {
    const fetched = pool.fetch(key, url, () => {
      begun.push(url ?? 'own');
      const { promise, resolve, reject } = Promise.withResolvers<Response>();
      ends.push((failure) => (failure ? reject(failure) : resolve(new Response('body'))));
      return promise;
    });
    return fetched.then(
      (response) => response.text(),
      (error: unknown) => error,
    );
  };
  return { fetch, begun, ends };
}

it('requests for the same URL of a key share one fetch, and each gets the whole answer', async () => {
  const { fetch, begun, ends } = start();
  const both = [fetch('a', 'u'), fetch('a', 'u')];
  expect(begun).toEqual(['u']);
  ends[0]!();
  expect(await Promise.all(both)).toEqual(['body', 'body']);
  const later = fetch('a', 'u');
  expect(begun).toEqual(['u', 'u']);
  ends[1]!(new Error('no'));
  expect(await later).toBeInstanceOf(Error);
});

it.each<[string, [string, string?][], [string, string?], [string, string?]]>([
  [
    'of one key',
    [
      ['a', 'u'],
      ['a', 'u'],
    ],
    ['a', 'u'],
    ['a', 'u'],
  ],
  ['of one key, with fetches of their own', [['a'], ['a']], ['a'], ['a']],
  ['of all keys', [['a'], ['b'], ['c']], ['d'], ['e']],
  ['for different URLs of one key', [['a', 'u']], ['a', 'v'], ['a', 'w']],
])('the last request %s within the limit is served, and the next one is refused at once', async (_, before, last, beyond) => {
  const { fetch, begun, ends } = start();
  const waiting = [...before, last].map(([key, url]) => fetch(key, url));
  const count = begun.length;
  expect(await fetch(...beyond)).toBeInstanceOf(FetchesBusy);
  expect(begun).toHaveLength(count);
  for (const end of ends) end();
  expect(new Set(await Promise.all(waiting))).toEqual(new Set(['body']));
  // All places are free again.
  const again = fetch(...beyond);
  ends.at(-1)!();
  expect(await again).toBe('body');
});

it('an error that was caused by a full pool is recognized', () => {
  expect(isBusy(new Error('wrapped', { cause: new Error('again', { cause: new FetchesBusy() }) }))).toBe(true);
  expect(isBusy(new Error('wrapped', { cause: 'text' }))).toBe(false);
});

import { expect, it } from 'vitest';
import { FetchesBusy, FetchPool, isBusy } from './fetch-pool.ts';

const LIMITS = { total: 4, perKey: 3, urlsPerKey: 2 };

/** A pool whose fetches stay pending until the test calls their entry of `ends`. */
function start() {
  const pool = new FetchPool(LIMITS);
  const fetchedUrls: string[] = [];
  const ends: ((failure?: Error) => void)[] = [];
  const fetch = (key: string, url?: string) => {
    const fetched = pool.fetch(key, url, () => {
      fetchedUrls.push(url ?? 'own');
      const { promise, resolve, reject } = Promise.withResolvers<Response>();
      ends.push((failure) => (failure ? reject(failure) : resolve(new Response('body'))));
      return promise;
    });
    return fetched.then(
      (response) => response.text(),
      (error: unknown) => error,
    );
  };
  return { fetch, fetchedUrls, ends };
}

it('requests with the same key and URL share one fetch, and each gets the whole response', async () => {
  const { fetch, fetchedUrls, ends } = start();
  const both = [fetch('a', 'u'), fetch('a', 'u')];
  expect(fetchedUrls).toEqual(['u']);
  ends[0]!();
  expect(await Promise.all(both)).toEqual(['body', 'body']);
  const later = fetch('a', 'u');
  expect(fetchedUrls).toEqual(['u', 'u']);
  ends[1]!(new Error('no'));
  expect(await later).toBeInstanceOf(Error);
});

it.each<[string, [string, string?][], [string, string?], [string, string?]]>([
  [
    'of requests for one key',
    [
      ['a', 'u'],
      ['a', 'u'],
    ],
    ['a', 'u'],
    ['a', 'u'],
  ],
  ['of unshared fetches for one key', [['a'], ['a']], ['a'], ['a']],
  ['of fetches for all keys', [['a'], ['b'], ['c']], ['d'], ['e']],
  ['of distinct URLs for one key', [['a', 'u']], ['a', 'v'], ['a', 'w']],
])('at the limit %s, the last request is served and the next one is refused at once', async (_, before, last, beyond) => {
  const { fetch, fetchedUrls, ends } = start();
  const waiting = [...before, last].map(([key, url]) => fetch(key, url));
  const count = fetchedUrls.length;
  expect(await fetch(...beyond)).toBeInstanceOf(FetchesBusy);
  expect(fetchedUrls).toHaveLength(count);
  for (const end of ends) end();
  expect(new Set(await Promise.all(waiting))).toEqual(new Set(['body']));
  // All slots are free again.
  const again = fetch(...beyond);
  ends.at(-1)!();
  expect(await again).toBe('body');
});

it('isBusy recognizes an error caused by a full pool, however deeply it is wrapped', () => {
  expect(isBusy(new Error('wrapped', { cause: new Error('again', { cause: new FetchesBusy() }) }))).toBe(true);
  expect(isBusy(new Error('wrapped', { cause: 'text' }))).toBe(false);
});

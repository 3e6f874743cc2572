/** Generates requests that store and delete records. */
import fc from 'fast-check';
import { deletions, patches, puts } from './call-requests.ts';
import { posts } from './post-requests.ts';
import type { RecordKey } from './record-keys.ts';
import { heads, headers, NOT_FOUND, refusal, UNAUTHORIZED, type Head, type RecordRequest } from './record-parts.ts';
import { bad, bounded, good, outcomes } from './request.ts';

export function recordRequests(api: string, keys: RecordKey[]): fc.Arbitrary<RecordRequest> {
  const from = (generate: (api: string, head: Head) => fc.Arbitrary<RecordRequest>) =>
    heads(keys).chain((head) => generate(api, head));
  return fc
    .oneof(
      { arbitrary: from(posts), weight: 6 },
      { arbitrary: from(puts), weight: 2 },
      { arbitrary: from(patches), weight: 2 },
      { arbitrary: from(deletions), weight: 2 },
      { arbitrary: from(wrongMethods), weight: 1 },
    )
    .map(bounded);
}

/** Methods that a path doesn't have, and paths without a route, whatever the key's rights are. */
function wrongMethods(api: string, head: Head): fc.Arbitrary<RecordRequest> {
  const refused = fc.constantFrom(
    ...['GET', 'PUT', 'PATCH', 'DELETE', 'TRACE'].map((method) => [method, '/v1/records', refusal(405)]),
    ...['POST', 'OPTIONS'].map((method) => [method, '/v1/calls/kept_0', refusal(405)]),
    ...['/v1/records/', '/v1/Records', '/v1/calls/', '/v1/calls/kept_0/', '/v1//records'].map((path) => ['PUT', path, NOT_FOUND]),
  );
  return refused.map(([method, target, outcome]) => ({
    route: 'records: wrong path or method',
    method: method!,
    target: target!,
    headers: headers(api, { ...head, encoding: good(undefined) }, 'application/json'),
    credential: head.credential,
    expected: outcomes([head.credential.isUsable ? good(null) : bad(null, UNAUTHORIZED)], [outcome!]),
  }));
}

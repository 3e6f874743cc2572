import { expect, it } from 'vitest';
import { RateLimitDescriptor } from '@crs/proto/envoy/extensions/common/ratelimit/v3/ratelimit';
import { readDescriptor } from './descriptor.ts';

const defaults = new Map([['organization', { requests: 600, periodSeconds: 60 }]]);

const subject = [
  { key: 'kind', value: 'organization' },
  { key: 'id', value: 'acme' },
];

it('gives a subject one counter for each limit, whoever brought the limit', () => {
  const asked = [
    { entries: [...subject, { key: 'rule', value: '600/60' }] },
    { entries: subject, limit: { requestsPerUnit: 600, unit: 'MINUTE' as const } },
    { entries: subject },
  ];
  const charges = asked.map((parts) => readDescriptor('call-research', RateLimitDescriptor.fromPartial(parts), defaults, 'it'));
  const rule = { requests: 600, periodSeconds: 60 };
  const charge = {
    key: 'rl:{call-research:kind=organization:id=acme}:600/60',
    rule,
    amount: undefined,
  };
  expect(charges).toEqual([charge, charge, charge]);
});

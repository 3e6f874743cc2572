import { expect, it } from 'vitest';
import { RateLimitDescriptor } from '@crs/proto/envoy/extensions/common/ratelimit/v3/ratelimit';
import { readDescriptor } from './descriptor.ts';

const defaults = new Map([['organization', { requests: 600, periodSeconds: 60 }]]);

const subject = [
  { key: 'kind', value: 'organization' },
  { key: 'id', value: 'acme' },
];

it('a subject has one counter per limit, whether a rule entry, an override or a default set the limit', () => {
  const descriptors = [
    { entries: [...subject, { key: 'rule', value: '600/60' }] },
    { entries: subject, limit: { requestsPerUnit: 600, unit: 'MINUTE' as const } },
    { entries: subject },
  ];
  const charges = descriptors.map((parts) =>
    readDescriptor('call-research', RateLimitDescriptor.fromPartial(parts), defaults, 'it'),
  );
  const rule = { requests: 600, periodSeconds: 60 };
  const charge = {
    key: 'rl:{call-research:kind=organization:id=acme}:600/60',
    rule,
    amount: undefined,
  };
  expect(charges).toEqual([charge, charge, charge]);
});

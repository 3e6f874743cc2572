import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { verifyWebhook } from '../src/webhook.ts';

// The example of the Standard Webhooks specification.
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const BODY = '{"test": 2432232314}';
const HEADERS = {
  'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  'webhook-timestamp': '1614265330',
  'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
};

beforeEach(() => void vi.useFakeTimers({ now: 1_614_265_330_000, toFake: ['Date'] }));
afterEach(() => void vi.useRealTimers());

it('verifyWebhook returns a message that is signed with the secret, among other signatures', () => {
  expect(verifyWebhook(BODY, HEADERS, SECRET)).toEqual({ test: 2432232314 });
  expect(verifyWebhook(Buffer.from(BODY), new Headers(HEADERS), SECRET)).toEqual({ test: 2432232314 });
  const among = { ...HEADERS, 'webhook-signature': `v1,AAAA v2,x ${HEADERS['webhook-signature']}` };
  expect(verifyWebhook(BODY, among, SECRET)).toEqual({ test: 2432232314 });
});

it.each([
  ['a changed body', `${BODY} `, HEADERS, SECRET],
  ['another id', BODY, { ...HEADERS, 'webhook-id': 'msg_other' }, SECRET],
  ['another secret', BODY, HEADERS, 'whsec_AAAA'],
  ['another version', BODY, { ...HEADERS, 'webhook-signature': HEADERS['webhook-signature'].replace('v1', 'v2') }, SECRET],
  ['no signature', BODY, { ...HEADERS, 'webhook-signature': undefined }, SECRET],
  ['no timestamp', BODY, { ...HEADERS, 'webhook-timestamp': undefined }, SECRET],
])('verifyWebhook refuses %s', (_what, body, headers, secret) => {
  expect(() => verifyWebhook(body, headers, secret)).toThrow(/^webhook-/);
});

it.each([-301, 301])('verifyWebhook refuses a message that was sent %d seconds ago', (seconds) => {
  vi.setSystemTime(1_614_265_330_000 + seconds * 1000);
  expect(() => verifyWebhook(BODY, HEADERS, SECRET)).toThrow('webhook-timestamp');
});

import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { accessChangedMessage, changesMessage, pingMessage } from './message.ts';
import { delayAfter, reasonToDisable } from './retries.ts';
import { createSecret, signedHeaders } from './signature.ts';

const NOW = new Date('2026-03-02T09:30:00.000Z');
const DAY_MS = 86_400_000;

describe('the delay after failures', () => {
  it('starts at 5 s, and doubles up to an hour', () => {
    expect([1, 2, 3, 10, 11, 1_000].map((failures) => delayAfter(failures, 0) / 1000)).toEqual([5, 10, 20, 2_560, 3_600, 3_600]);
  });

  it('is up to a fifth longer at random', () => {
    expect([delayAfter(1, 0.5), delayAfter(1, 1)]).toEqual([5_500, 6_000]);
  });
});

it('an endpoint is disabled by a 410 at once, and by other failures after 5 days', () => {
  const since = (ms: number) => new Date(NOW.getTime() - ms);
  expect(reasonToDisable(410, NOW, NOW)).toBe('gone');
  expect(reasonToDisable(500, since(5 * DAY_MS - 1), NOW)).toBeUndefined();
  expect(reasonToDisable(500, since(5 * DAY_MS), NOW)).toBe('failing');
  expect(reasonToDisable(undefined, since(5 * DAY_MS), NOW)).toBe('failing');
});

it('the reference library verifies a message by each of the secrets that sign it', () => {
  const secrets = [createSecret(), createSecret()];
  const headers = signedHeaders('msg_1', '{"a":"é"}', secrets, new Date());
  for (const secret of secrets) expect(new Webhook(secret).verify('{"a":"é"}', headers)).toEqual({ a: 'é' });
  expect(() => new Webhook(createSecret()).verify('{"a":"é"}', headers)).toThrow();
  expect(() => new Webhook(secrets[0]!).verify('{"a":"e"}', headers)).toThrow();
});

it('messages have the form of the contract', () => {
  const parse = ({ body }: { body: string }) => JSON.parse(body) as unknown;
  const timestamp = NOW.toISOString();
  expect(parse(pingMessage(NOW))).toEqual({ type: 'ping', timestamp, data: {} });
  expect(parse(changesMessage('[1]', true, NOW))).toEqual({
    type: 'calls.changed',
    timestamp,
    data: { changes: [1], has_more: true },
  });
  expect(parse(accessChangedMessage(NOW, NOW))).toEqual({
    type: 'calls.changed',
    timestamp,
    data: { changes: [{ type: 'access.changed', call_id: null, changed_at: timestamp }], has_more: false },
  });
});

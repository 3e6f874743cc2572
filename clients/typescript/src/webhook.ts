import { createHmac, timingSafeEqual } from 'node:crypto';
import type { WebhookMessage } from './types.ts';

/** An older delivery could be one that somebody recorded. */
const MAX_AGE_SECONDS = 300;

/**
 * Returns the message that an endpoint received, if it is signed as Standard Webhooks defines.
 * @param body exactly as received @param secret `whsec_...`
 * @throws Error if it isn't signed with the secret, or the delivery is more than 5 minutes old
 */
export function verifyWebhook(
  body: string | Uint8Array,
  headers: Headers | Record<string, string | string[] | undefined>,
  secret: string,
): WebhookMessage {
  const header = (name: string) => String((headers instanceof Headers ? headers.get(name) : headers[name]) ?? '');
  const sent = header('webhook-timestamp');
  const age = Math.abs(Date.now() / 1000 - Number.parseInt(sent, 10));
  if (!(age <= MAX_AGE_SECONDS)) throw new Error('webhook-timestamp is too old or missing');
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const mac = createHmac('sha256', key).update(`${header('webhook-id')}.${sent}.`);
  const expected = Buffer.from(`v1,${mac.update(body).digest('base64')}`);
  const signatures = Array.from(header('webhook-signature').split(' '), (each) => Buffer.from(each));
  if (!signatures.some((each) => each.length === expected.length && timingSafeEqual(each, expected)))
    throw new Error('webhook-signature is not valid');
  return JSON.parse(Buffer.from(body).toString()) as WebhookMessage;
}

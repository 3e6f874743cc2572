import { randomUUID } from 'node:crypto';
import { GuardedFetchError, guardedFetch } from '@crs/kit/http/guarded-fetch';
import { releaseVersion } from '@crs/kit/process/version';
import { meter } from '@crs/kit/process/telemetry';
import type { Context } from '../context.ts';
import { signedHeaders } from '../domain/signature.ts';
import type { DeliveryRow } from '../store/deliveries.ts';
import type { Endpoint } from '../store/endpoints.ts';

/** Longer than a receiver may take, and its connection. */
export const ATTEMPT_TIMEOUT_MS = 10_000;

const USER_AGENT = `call-research/${releaseVersion()}`;

export interface Attempt extends DeliveryRow {
  deliveryId: string;
  accepted: boolean;
}

type Sent = Pick<Endpoint, 'url' | 'webhookId' | 'secretEncrypted' | 'previousSecretEncrypted' | 'previousUntil'>;

/** Sends a message once. Only a 2xx within 10 s accepts it; the body of the response isn't read. Never throws. */
export async function attempt(
  { encrypter, now, receivers }: Pick<Context, 'encrypter' | 'now' | 'receivers'>,
  organization: string,
  endpoint: Sent,
  { messageId, messageType, body }: { messageId: string; messageType: string; body: string },
): Promise<Attempt> {
  const at = now();
  const started = performance.now();
  let status: number | null = null;
  let problem: string | null = null;
  try {
    const headers = {
      ...signedHeaders(messageId, body, secretsOf(encrypter, organization, endpoint, at), at),
      'content-type': 'application/json',
      'user-agent': USER_AGENT,
    };
    const options = { ...receivers, method: 'POST', headers, body, timeoutMs: ATTEMPT_TIMEOUT_MS, statusOnly: true } as const;
    ({ status } = await guardedFetch(endpoint.url, options));
  } catch (error) {
    problem = error instanceof GuardedFetchError || error instanceof UndecryptableSecret ? error.reason : 'the exchange failed';
  }
  const accepted = status !== null && status >= 200 && status < 300;
  count(accepted ? 'accepted' : 'failed');
  const durationMs = Math.round(performance.now() - started);
  return { deliveryId: randomUUID(), at, messageId, messageType, status, problem, durationMs, accepted };
}

/** The endpoint's secret was encrypted under a `CRS_SECRET` that this process doesn't have. */
class UndecryptableSecret extends Error {
  override readonly name = 'UndecryptableSecret';
  readonly reason = "the endpoint's secret can't be decrypted";
}

function secretsOf(encrypter: Context['encrypter'], organization: string, endpoint: Sent, at: Date): string[] {
  const { secretEncrypted, previousSecretEncrypted, previousUntil } = endpoint;
  const encrypted = [secretEncrypted];
  if (previousSecretEncrypted && previousUntil && previousUntil > at) encrypted.push(previousSecretEncrypted);
  try {
    return encrypted.map((each) => encrypter.decrypt(each, contextOf(organization, endpoint.webhookId)).toString());
  } catch (cause) {
    throw new UndecryptableSecret(undefined, { cause });
  }
}

/** The context of an endpoint's encrypted secrets: those of another endpoint can't take their place. */
export function contextOf(organization: string, webhookId: string): string {
  return `${organization} ${webhookId}`;
}

/** Counts attempts by outcome. */
export function count(outcome: 'accepted' | 'failed', attempts = 1): void {
  meter('webhooks')
    .createCounter('crs.webhook.attempts', { description: 'Attempts to deliver a message, by outcome.' })
    .add(attempts, { outcome });
}

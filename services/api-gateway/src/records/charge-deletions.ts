import type { Response } from 'express';
import { invalid } from '@crs/kit/errors';
import { limitHeaders } from '@crs/kit/http/charge';
import { Refusal } from '@crs/kit/http/refusal';
import { authenticatedOf } from '../http/authentication.ts';
import type { Context } from '../route.ts';

const HOUR_SECONDS = 3_600;

/**
 * Charges deletions to the hourly limit of the organization's keys, all of them or none.
 * @throws ServiceError invalid_argument if the limit could never admit them, Refusal 429 if it doesn't now
 */
export async function chargeDeletions({ limiter }: Context, response: Response, deletions: number): Promise<void> {
  if (deletions === 0) return;
  const { organizationId, deleteLimit } = authenticatedOf(response)!.credential;
  requireWithinLimit(deletions, deleteLimit);
  const decision = await limiter.check({
    kind: 'organization',
    id: `${organizationId} deletions`,
    rule: { requests: deleteLimit, periodSeconds: HOUR_SECONDS },
    hits: deletions,
  });
  if (decision.allowed) return;
  response.set(limitHeaders(decision));
  const seconds = String(Math.max(1, Math.ceil(decision.resetInMs / 1_000)));
  const message = `The organization's keys may delete ${deleteLimit} records an hour; ${decision.remaining} are left. Nothing was stored. Try again in ${seconds} s.`;
  throw new Refusal(429, 'rate_limited', message, { 'Retry-After': seconds });
}

/** @throws ServiceError invalid_argument */
export function requireWithinLimit(deletions: number, limit: number): void {
  if (deletions > limit) {
    throw invalid('body', `must have at most ${limit} deletions, which the organization's keys may make in an hour`);
  }
}

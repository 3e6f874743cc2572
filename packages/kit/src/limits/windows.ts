import type { Decision, Rule, Verdict } from './rule.ts';

/** This process's knowledge of an open window of the rate-limit service. Times are whole milliseconds of a clock that doesn't jump. */
export interface Window {
  limit: number;
  /** As the service last stated it; the limit if the service has stated nothing. */
  remaining: number;
  endsAt: number;
  /** The service has refused a charge, and would refuse every other one until this time. */
  refusedUntil: number;
  share: Share | undefined;
}

/** The requests that this process admits by itself while the service doesn't answer. */
interface Share {
  left: number;
  /** Requests that this process has admitted and that the service hasn't counted. */
  unreported: number;
  /** The report that is under way. */
  report: Report | undefined;
}

/** Travels with a charge: tells the service of requests that this process has admitted by itself. */
export interface Report {
  admitted: number;
  /** Requests that the service had counted before. The service restores them if it has lost the counter. */
  counted: number;
  /** How long the window stays open. */
  windowMs: number;
}

/** A limit, and the number of processes that share it. */
interface Terms {
  rule: Rule;
  replicas: number;
}

/** A request arrives; its charge is about to be sent; the service has answered the charge; the service has failed to. */
export type WindowEvent =
  | ({ type: 'request' } & Terms)
  | { type: 'charge' }
  | { type: 'answer'; verdict: Verdict; chargedAt: number; report: Report | undefined }
  | ({ type: 'failure'; report: Report | undefined } & Terms);

export interface Step {
  /** Undefined if no window is known to be open. */
  window: Window | undefined;
  /** Missing after a `request` that the service has to decide. */
  decision?: Decision;
  /** What the charge of a `charge` has to carry. */
  report?: Report | undefined;
}

/** Applies an event to what is known of a window. */
export function next(known: Window | undefined, event: WindowEvent, now: number): Step {
  const window = known && known.endsAt > now ? known : undefined;
  switch (event.type) {
    case 'request': {
      const repeated = window && repeatRefusal(window, now);
      if (repeated) return { window, decision: repeated };
      // Until the service has counted the report, its verdicts leave out the requests in it.
      return window?.share?.report ? admit(window, event, now) : { window };
    }
    case 'charge':
      return startReport(window, now);
    case 'answer':
      return { window: learn(window, event, now), decision: { ...event.verdict, source: 'service' } };
    case 'failure':
      return admit(window && { ...window, share: endReport(window.share, event.report, 0) }, event, now);
  }
}

/** The service's refusal, while it would refuse every other request, too. */
export function repeatRefusal({ limit, endsAt, refusedUntil }: Window, now: number): Decision | undefined {
  if (refusedUntil <= now || endsAt <= now) return undefined;
  return { allowed: false, limit, remaining: 0, resetInMs: endsAt - now, source: 'remembered' };
}

function startReport(window: Window | undefined, now: number): Step {
  const share = window?.share;
  if (!share || share.unreported === 0 || share.report) return { window };
  const counted = window.limit - window.remaining;
  const report = { admitted: share.unreported, counted, windowMs: window.endsAt - now };
  return { window: { ...window, share: { ...share, report } }, report };
}

/** @param counted how many of the report's requests the service has counted */
function endReport(share: Share | undefined, report: Report | undefined, counted: number): Share | undefined {
  if (!report || share?.report !== report) return share;
  return { ...share, unreported: share.unreported - counted, report: undefined };
}

function learn(window: Window | undefined, event: Extract<WindowEvent, { type: 'answer' }>, now: number): Window {
  const { allowed, limit, remaining, resetInMs } = event.verdict;
  const share = endReport(window?.share, event.report, event.report?.admitted ?? 0);
  const refusedUntil = allowed ? -Infinity : event.chargedAt + resetInMs;
  // Once the service has counted every request, the share is taken anew from what remains by its verdict.
  return { limit, remaining, endsAt: now + resetInMs, refusedUntil, share: share?.unreported ? share : undefined };
}

/**
 * Admits a request from this process's share: its part of what remained when the service was last heard of, so that all replicas
 * together admit about as much as the service would.
 */
function admit(known: Window | undefined, { rule, replicas }: Terms, now: number): Step {
  const { requests, periodSeconds } = rule;
  const endsAt = now + periodSeconds * 1_000;
  const window = known ?? { limit: requests, remaining: requests, endsAt, refusedUntil: -Infinity, share: undefined };
  const limit = Math.max(1, Math.floor(requests / replicas));
  const left = Math.min(limit, Math.ceil(window.remaining / replicas));
  let share = window.share ?? { left, unreported: 0, report: undefined };
  const allowed = share.left > 0;
  if (allowed) share = { ...share, left: share.left - 1, unreported: share.unreported + 1 };
  const decision: Decision = {
    allowed,
    limit,
    remaining: share.left,
    resetInMs: window.endsAt - now,
    source: 'fallback',
  };
  return { window: { ...window, share }, decision };
}

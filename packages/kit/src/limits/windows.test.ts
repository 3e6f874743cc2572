import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Decision, Rule, Verdict } from './rule.ts';
import { next, type Report, type Window, type WindowEvent } from './windows.ts';

const PERIOD_MS = 60_000;
const ruleOf = (requests: number): Rule => ({ requests, periodSeconds: PERIOD_MS / 1_000 });

/** A model of the rate-limit service: counts hits in fixed windows. */
class Service {
  readonly #limit: number;
  count = 0;
  endsAt = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  hit(amount: number, now: number): Verdict {
    if (this.endsAt <= now) [this.count, this.endsAt] = [0, now + PERIOD_MS];
    this.count += amount;
    const remaining = Math.max(0, this.#limit - this.count);
    return { allowed: this.count <= this.#limit, limit: this.#limit, remaining, resetInMs: this.endsAt - now };
  }
}

/** A gateway with its unanswered charges. */
class Gateway {
  readonly #terms: { rule: Rule; replicas: number };
  readonly #charges: { chargedAt: number; report: Report | undefined }[] = [];
  #window: Window | undefined;

  constructor(requests: number, replicas = 1) {
    this.#terms = { rule: ruleOf(requests), replicas };
  }

  #apply(event: WindowEvent, now: number) {
    const step = next(this.#window, event, now);
    this.#window = step.window;
    return step;
  }

  /** A request arrives. @returns undefined if it waits for the service */
  request(now: number): Decision | undefined {
    const { decision } = this.#apply({ type: 'request', ...this.#terms }, now);
    if (!decision) this.#charges.push({ chargedAt: now, report: this.#apply({ type: 'charge' }, now).report });
    return decision;
  }

  /** The oldest charge is answered, or fails where `service` is undefined. @returns undefined if there is no charge */
  settle(service: Service | undefined, now: number): Decision | undefined {
    const charge = this.#charges.shift();
    if (!charge) return undefined;
    if (!service) return this.#apply({ type: 'failure', ...this.#terms, report: charge.report }, now).decision;
    const verdict = service.hit(1 + (charge.report?.admitted ?? 0), now);
    return this.#apply({ type: 'answer', verdict, ...charge }, now).decision;
  }

  /** A request arrives and is decided at once. */
  decide(service: Service | undefined, now: number): Decision {
    return this.request(now) ?? this.settle(service, now)!;
  }
}

const limits = fc.integer({ min: 1, max: 20 });
const replicas = fc.integer({ min: 1, max: 5 });
const pauses = fc.constantFrom(0, 0, 0, 1, 999, PERIOD_MS / 3, PERIOD_MS);
/** `to`: the number of the gateway. `pause`: milliseconds since the request before. */
const arrivals = fc.array(fc.record({ to: fc.nat(), pause: pauses }), { maxLength: 120 });

/** The offered and admitted requests of each window. */
class Tally {
  readonly #windows = new Map<string, { offered: number; admitted: number }>();

  add(window: string, { allowed }: Decision): void {
    const seen = this.#windows.get(window) ?? { offered: 0, admitted: 0 };
    this.#windows.set(window, { offered: seen.offered + 1, admitted: seen.admitted + Number(allowed) });
  }

  expectAdmitted(limit: number): void {
    for (const { offered, admitted } of this.#windows.values()) expect(admitted).toBe(Math.min(offered, limit));
  }
}

describe('any number of gateways at any times', () => {
  it('admit the requests of each window up to the limit while the service answers', () => {
    const run = (limit: number, count: number, requests: { to: number; pause: number }[]) => {
      const service = new Service(limit);
      const gateways = Array.from({ length: count }, () => new Gateway(limit, count));
      const tally = new Tally();
      let now = 0;
      for (const { to, pause } of requests) {
        const decision = gateways[to % count]!.decide(service, (now += pause));
        expect(now + decision.resetInMs).toBe(service.endsAt);
        tally.add(String(service.endsAt), decision);
      }
      tally.expectAdmitted(limit);
    };
    fc.assert(fc.property(limits, replicas, arrivals, run));
  });

  it('admit their shares of each window while the service is away, together at most the limit', () => {
    const run = (limit: number, count: number, requests: { to: number; pause: number }[]) => {
      const gateways = Array.from({ length: count }, () => new Gateway(limit, count));
      const tally = new Tally();
      let [now, share] = [0, 1];
      for (const { to, pause } of requests) {
        const decision = gateways[to % count]!.decide(undefined, (now += pause));
        share = decision.limit;
        expect(decision.resetInMs).toBeGreaterThan(0);
        tally.add(`${to % count} ${now + decision.resetInMs}`, decision);
      }
      tally.expectAdmitted(share);
      // A share is at least one request.
      expect(share * count).toBeLessThanOrEqual(Math.max(limit, count));
    };
    fc.assert(fc.property(limits, replicas, arrivals, run));
  });

  it('admit the rest of a window after the service went away, rounded up for each gateway', () => {
    const run = (limit: number, count: number, used: number) => {
      const verdict = new Service(limit).hit(used, 0);
      let admitted = 0;
      for (let gateway = 0; gateway < count; gateway++) {
        let { window } = next(undefined, { type: 'answer', verdict, chargedAt: 0, report: undefined }, 0);
        for (let n = 0; n <= limit; n++) {
          const step = next(window, { type: 'failure', rule: ruleOf(limit), replicas: count, report: undefined }, 1_000);
          window = step.window;
          admitted += Number(step.decision!.allowed);
        }
      }
      expect(admitted).toBeLessThanOrEqual(Math.max(limit, count));
      expect(admitted).toBeLessThan(verdict.remaining + count);
      expect(admitted).toBeGreaterThanOrEqual(Math.min(verdict.remaining, Math.floor(limit / count) * count));
    };
    fc.assert(fc.property(limits, replicas, fc.integer({ min: 1, max: 25 }), run));
  });
});

describe('a gateway whose charges are answered late, early or never', () => {
  const steps = fc.array(fc.constantFrom('request', 'request', 'answer', 'failure', 'pause'), { maxLength: 200 });

  it('reports each request that it admitted by itself once', () => {
    const run = (course: string[]) => {
      const [service, gateway] = [new Service(1_000), new Gateway(1_000)];
      let [now, requests] = [0, 0];
      for (const step of course) {
        if (step === 'pause') now += 100;
        else if (step === 'request') {
          gateway.request(now);
          requests++;
        } else gateway.settle(step === 'answer' ? service : undefined, now);
      }
      while (gateway.settle(service, now));
      gateway.decide(service, now);
      expect(service.count).toBe(requests + 1);
    };
    fc.assert(fc.property(steps, run));
  });

  it('repeats a refusal only while the service would refuse, and states true resets', () => {
    const run = (limit: number, course: string[]) => {
      const [service, gateway] = [new Service(limit), new Gateway(limit)];
      let now = 0;
      for (const step of course) {
        if (step === 'pause') {
          now += 8_765;
          continue;
        }
        const decision = step === 'request' ? gateway.request(now) : gateway.settle(step === 'answer' ? service : undefined, now);
        if (!decision) continue;
        expect(decision.remaining).toBeLessThanOrEqual(decision.limit);
        expect(decision.resetInMs).toBeGreaterThan(0);
        expect(decision.resetInMs).toBeLessThanOrEqual(PERIOD_MS);
        if (decision.source !== 'remembered') continue;
        expect(decision.resetInMs).toBeGreaterThanOrEqual(service.endsAt - now);
        expect(service.endsAt > now && service.count > limit).toBe(true);
      }
    };
    fc.assert(fc.property(limits, steps, run));
  });
});

describe('for example', () => {
  it('a refusal is repeated until its window is over, counted from when the charge was sent', () => {
    const verdict = { allowed: false, limit: 90, remaining: 0, resetInMs: 60_000 };
    const { window } = next(undefined, { type: 'answer', verdict, chargedAt: 1_000, report: undefined }, 1_200);
    const request = { type: 'request', rule: ruleOf(90), replicas: 3 } as const;
    expect(next(window, request, 60_999).decision).toEqual({ ...verdict, resetInMs: 201, source: 'remembered' });
    expect(next(window, request, 61_000).decision).toBeUndefined();
  });

  it('one charge at a time carries the report', () => {
    const terms = { rule: ruleOf(90), replicas: 3 };
    const verdict = { allowed: true, limit: 90, remaining: 50, resetInMs: 60_000 };
    const learned = next(undefined, { type: 'answer', verdict, chargedAt: 0, report: undefined }, 0).window;
    const admitted = next(learned, { type: 'failure', ...terms, report: undefined }, 1_000);
    expect(admitted.decision).toEqual({ allowed: true, limit: 30, remaining: 16, resetInMs: 59_000, source: 'fallback' });
    const { report, window: reporting } = next(admitted.window, { type: 'charge' }, 2_000);
    expect(report).toEqual({ admitted: 1, counted: 40, windowMs: 58_000 });
    expect(next(reporting, { type: 'charge' }, 2_000).report).toBeUndefined();
    const meanwhile = next(reporting, { type: 'request', ...terms }, 2_000).decision;
    expect(meanwhile).toMatchObject({ remaining: 15, source: 'fallback' });
    // The report is answered after its window has closed, and must not count for the next window.
    const { window } = next(reporting, { type: 'failure', ...terms, report: undefined }, 60_000);
    const answered = next(window, { type: 'answer', verdict, chargedAt: 59_900, report }, 60_100).window;
    expect(next(answered, { type: 'charge' }, 60_200).report).toMatchObject({ admitted: 1 });
  });
});

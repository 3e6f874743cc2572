import { describe, expect, it } from 'vitest';
import { CALLER_KEYS, currentKey, planRotation as plan, stateOf, TOKEN_KEYS, type KeyTimes } from './rotation.ts';

const planRotation = (keys: KeyTimes[], now: Date) => plan(keys, now, CALLER_KEYS);
const times = (keyId: string, signFrom: number, protectedUntil?: number): KeyTimes => ({
  keyId,
  signFrom: new Date(signFrom),
  protectedUntil: protectedUntil === undefined ? null : new Date(protectedUntil),
});

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;
const START = Date.parse('2026-01-01T00:00:00Z');
/** How long a replica may still sign with a key after its successor became current. */
const LEARNS_WITHIN = MINUTE;
const TOKEN_LIVES = MINUTE;

interface Life extends KeyTimes {
  createdAt: number;
  /** When a replica last signed with the key. */
  lastSignedAt: number;
  droppedAt?: number;
}

/** Runs the rotation at each of these times, and checks the invariants after each run. */
function simulate(moments: Iterable<number>): Life[] {
  const lives: Life[] = [];
  let keys: Life[] = [];
  for (const now of moments) {
    const { createFrom, retire } = planRotation(keys, new Date(now));
    if (createFrom) {
      const life = { ...times(`key ${lives.length}`, createFrom.getTime()), createdAt: now, lastSignedAt: -Infinity };
      lives.push(life);
      keys.push(life);
    }
    for (const id of retire) {
      const key = keys.find(({ keyId }) => keyId === id)!;
      if (key.lastSignedAt + LEARNS_WITHIN + TOKEN_LIVES >= now) throw new Error(`A token of ${id} may be valid.`);
      key.droppedAt = now;
    }
    keys = keys.filter(({ droppedAt }) => droppedAt === undefined);
    const current = currentKey(keys, new Date(now));
    if (!current) throw new Error(`No key is current at ${new Date(now).toISOString()}.`);
    if (keys.length > 3) throw new Error(`There are ${keys.length} keys at ${new Date(now).toISOString()}.`);
    current.lastSignedAt = now;
  }
  return lives;
}

function* every(step: number, from: number, to: number): Generator<number> {
  for (let now = from; now < to; now += step) yield now;
}

describe('a year of rotation', () => {
  const lives = simulate(every(MINUTE, START, START + 365 * DAY));

  it('makes a key a day', () => {
    expect(lives).toHaveLength(366);
    for (const [i, life] of lives.slice(1).entries()) expect(life.signFrom.getTime() - lives[i]!.signFrom.getTime()).toBe(DAY);
  });

  it('publishes each successor ten minutes before it signs', () => {
    for (const { createdAt, signFrom } of lives.slice(1)) expect(signFrom.getTime() - createdAt).toBe(10 * MINUTE);
  });

  it('drops each key ten minutes after it stopped signing, and no sooner', () => {
    for (const [i, { droppedAt }] of lives.slice(0, -2).entries()) {
      expect(droppedAt! - lives[i + 1]!.signFrom.getTime()).toBe(11 * MINUTE); // "older than ten minutes", seen once a minute
    }
  });
});

describe('rotation', () => {
  it('makes the very first key at once', () => {
    expect(planRotation([], new Date(START))).toEqual({ createFrom: new Date(START), retire: [] });
  });

  it('plans nothing more once a plan has been carried out', () => {
    const due = new Date(START + DAY - 10 * MINUTE);
    const { createFrom } = planRotation([times('a', START)], due);
    const keys = [times('a', START), times('b', createFrom!.getTime())];
    expect(planRotation(keys, due)).toEqual({ retire: [] });
  });

  it.each([
    [DAY - 10 * MINUTE - 1, undefined],
    [DAY - 10 * MINUTE, DAY],
    [DAY - 1, DAY - 1 + 10 * MINUTE],
    [DAY, DAY + 10 * MINUTE],
  ])('plans, for a key that has signed for %i ms, a successor that signs from %s ms on', (age, from) => {
    const { createFrom } = planRotation([times('a', START)], new Date(START + age));
    expect(createFrom?.getTime()).toBe(from === undefined ? undefined : START + from);
  });

  it.each([
    [10 * MINUTE, []],
    [10 * MINUTE + 1, ['a']],
  ])('%i ms after the successor began to sign, retires %j', (age, drop) => {
    const keys = [times('b', START + DAY), times('a', START)];
    expect(planRotation(keys, new Date(START + DAY + age)).retire).toEqual(drop);
  });

  it('after days without a run, keeps signing with the old key until the successor has been published for ten minutes', () => {
    const lives = simulate([START, START + MINUTE, ...every(MINUTE, START + 5 * DAY, START + 9 * DAY)]);
    const [first, second] = lives;
    expect(first!.lastSignedAt).toBe(START + 5 * DAY + 9 * MINUTE);
    expect(second!.createdAt).toBe(START + 5 * DAY);
    expect(second!.signFrom.getTime() - second!.createdAt).toBe(10 * MINUTE);
  });

  it('upholds the invariants with irregular runs, as by many replicas', () => {
    let random = 1;
    const next = () => (random = (random * 48_271) % 2_147_483_647) / 2_147_483_647;
    function* irregular() {
      for (let now = START; now < START + 30 * DAY; now += 1 + next() * (next() < 0.001 ? 30 * 3600 * SECOND : MINUTE))
        yield Math.floor(now);
    }
    const lives = simulate(irregular());
    expect(lives.length).toBeGreaterThan(15);
    for (const { createdAt, signFrom } of lives.slice(1))
      expect(signFrom.getTime() - createdAt).toBeGreaterThanOrEqual(10 * MINUTE);
  });
});

describe('the current key', () => {
  it('is the newest key that may already sign, whatever the order of the list', () => {
    const [a, b, c] = ['a', 'b', 'c'].map((keyId, i) => times(keyId, START + i * DAY)) as [KeyTimes, KeyTimes, KeyTimes];
    expect(currentKey([b, a, c], new Date(START + 2 * DAY - 1))).toBe(b);
    expect(currentKey([b, c, a], new Date(START + 2 * DAY))).toBe(c);
    expect(currentKey([b, c], new Date(START))).toBeUndefined();
  });
});

describe('token keys', () => {
  const old = times('old', START);
  const rotated = [times('new', START + DAY), old];
  const retired = (keys: KeyTimes[], now: number) => plan(keys, new Date(now), TOKEN_KEYS).retire;

  it('sign until an operator rotates them', () => {
    expect(plan([old], new Date(START + 1_000 * DAY), TOKEN_KEYS)).toEqual({ retire: [] });
  });

  it('retire ten minutes after the longest-lived access token that they can have signed has expired', () => {
    expect(retired(rotated, START + 8 * DAY + 10 * MINUTE)).toEqual([]);
    expect(retired(rotated, START + 8 * DAY + 10 * MINUTE + 1)).toEqual(['old']);
  });

  it('are kept until the last long-lived token that they signed expires', () => {
    const keys = [rotated[0]!, times('old', START, START + 30 * DAY)];
    expect(retired(keys, START + 30 * DAY)).toEqual([]);
    expect(retired(keys, START + 30 * DAY + 1)).toEqual(['old']);
  });

  it('are announced, then sign, then verify', () => {
    const statesAt = (now: number) => rotated.map((key) => stateOf(key, rotated, new Date(now)));
    expect(statesAt(START + DAY - 1)).toEqual(['announced', 'signing']);
    expect(statesAt(START + DAY)).toEqual(['signing', 'verifying']);
  });
});

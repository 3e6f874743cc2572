/** The records of the trial of merges: what each producer writes of a call, and what must be stored afterwards. */

export const ORGANIZATION = 'merged';
/** Has the same call ids, and one producer of its own. */
export const NEIGHBOR = 'neighbor';
export const CALLS = 1_000;

const users = (organization: string) => ['ann', 'bob'].map((name) => `${name}@${organization}.example`);
const PROJECTS = ['a', 'b'].map((letter) => `00000000-0000-4000-8000-00000000000${letter}`);

export type Random = () => number;
/** A line of a call, or properties of it. */
export type Properties = Record<string, unknown>;
/** Generates a value of a property. */
type Value = (random: Random, organization: string) => unknown;

function pick<T>(random: Random, from: readonly T[]): T {
  return from[Math.floor(random() * from.length)]!;
}

const oneOf =
  (...values: unknown[]): Value =>
  (random) =>
    pick(random, values);
const integer =
  (least: number, most: number): Value =>
  (random) =>
    least + Math.floor(random() * (most - least + 1));
const text =
  (what: string): Value =>
  (random) =>
    `${what} ${Math.floor(random() * 1e9)}`;
const uuidOf = (random: Random) => `00000000-0000-4000-8000-${String(Math.floor(random() * 1e12)).padStart(12, '0')}`;
const segments: Value = (random) =>
  Array.from({ length: 1 + Math.floor(random() * 5) }, (_, n) => ({
    speaker: pick(random, ['Ann', 'Eva Muster']),
    start_seconds: n,
    text: `Said ${random()}.`,
  }));

export interface Producer {
  name: string;
  /** Generators of the properties that only this producer writes. `expert.name` is the property `name` of `expert`. */
  properties: Record<string, Value>;
  /** Whether it writes by `crs import` instead of REST. */
  imports?: boolean;
}

export const PRODUCERS: readonly Producer[] = [
  {
    name: 'scheduling',
    properties: {
      call_status: oneOf('candidate', 'scheduled', 'rescheduled', 'done', 'canceled'),
      date: (random) => new Date(Date.UTC(2025, 2, 1) + Math.floor(random() * 1e9)).toISOString(),
      conducted_by: (random, organization) => pick(random, users(organization)),
      project_id: oneOf(...PROJECTS),
      'expert.name': text('Eva'),
      'expert.organization': text('Initech'),
    },
  },
  { name: 'recorder', properties: { duration_minutes: integer(0, 90), language: oneOf('en', 'de'), transcript: segments } },
  {
    name: 'AI step',
    properties: {
      summary: text('Summary'),
      ktas: text('- Takeaway'),
      qa_blocks: (random) =>
        Array.from({ length: Math.floor(random() * 4) }, () => ({
          id: uuidOf(random),
          question: `Why ${random()}?`,
          answer: `Because ${random()}.`,
        })),
      'expert.bio': text('Biography'),
    },
  },
  { name: 'reviewer', properties: { rating: integer(1, 5), kta_approval_status: oneOf('pending', 'approved') } },
  {
    name: 'redaction',
    properties: {
      anonymity_status: oneOf('not_requested', 'started', 'complete', 'errored'),
      redacted_transcript: text('Redacted'),
      anonymized_name: text('Expert'),
    },
  },
  { name: 'finance', properties: { cost: integer(0, 5_000), source: text('Network') }, imports: true },
  {
    name: 'user',
    properties: {
      segment: oneOf('north', 'south'),
      participants: (random) => [{ name: `Ann ${Math.floor(random() * 1e6)}`, role: 'analyst' }],
      notes: (random, organization) => users(organization).map((email) => ({ email, text: `Note ${random()}` })),
      'expert.country': oneOf('Germany', 'Kenya'),
    },
  },
];

/** The producer of the other organization. It writes what two of the producers write. */
export const NEIGHBORS_PRODUCER: Producer = {
  name: 'neighbor',
  properties: { ...PRODUCERS[2]!.properties, ...PRODUCERS[5]!.properties },
};

/** Returns some of a producer's properties with new values, a few of them null. */
export function drawChange({ properties }: Producer, organization: string, random: Random): Properties {
  const names = Object.keys(properties);
  const always = pick(random, names);
  const change: Properties = {};
  for (const name of names) {
    if (name !== always && random() < 0.5) continue;
    const value = random() < 0.1 ? null : properties[name]!(random, organization);
    const [outer, inner] = name.split('.') as [string, string?];
    change[outer] = inner === undefined ? value : { ...(change[outer] as Properties | undefined), [inner]: value };
  }
  return change;
}

/** Returns what an export must write of a call after a merge. */
export function merge(record: Properties, change: Properties): Properties {
  const merged: Properties = { ...record };
  for (const [name, value] of Object.entries(change)) {
    merged[name] = name === 'expert' ? withoutEmpty({ ...(record[name] as Properties), ...(value as Properties) }) : value;
  }
  return withoutEmpty(merged);
}

/** Leaves out what an export leaves out. */
function withoutEmpty(properties: Properties): Properties {
  const isEmpty = (value: unknown) => value === null || (typeof value === 'object' && Object.keys(value).length === 0);
  return Object.fromEntries(Object.entries(properties).filter(([, value]) => !isEmpty(value)));
}

const LIMIT = { requests: 100_000_000, period_seconds: 60 };

/** The calls before the first round, by id. */
export function firstCalls(organization: string): Map<string, Properties> {
  return new Map(
    Array.from({ length: CALLS }, (_, n) => {
      const id = `call-${n}`;
      const created = new Date(Date.UTC(2025, 2, 1, 0, n)).toISOString();
      return [id, { type: 'call', organization, id, call_type: 'interview', created_at: created }];
    }),
  );
}

export function firstRecords(organization: string): object[] {
  return [
    { type: 'organization', id: organization, name: organization, rate_limit: LIMIT },
    ...users(organization).map((email) => ({ type: 'user', organization, email, name: email })),
    ...PROJECTS.map((id) => ({ type: 'project', organization, id, name: 'Project' })),
    ...firstCalls(organization).values(),
  ];
}

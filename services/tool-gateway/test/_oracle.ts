// Generators of random organizations, and an oracle: a plain in-memory model of the rows that each user may see.
import fc from 'fast-check';

const TEXTS = [
  'Customers',
  'customers',
  'CUSTOMERS ',
  '100%',
  'a_b',
  'a\\b',
  "O'Brien",
  '"quoted"',
  'Ünïted',
  'U\u0308ni\u0308ted',
  'Ελλάδα',
  '日本',
  'ß',
  'x',
];
const text = fc.constantFrom(...TEXTS);
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null, freq: 3 });
/** Timestamps, some with digits beyond the millisecond, which must have no effect. */
const at = fc
  .tuple(fc.integer({ min: 0, max: 40 }), fc.constantFrom('Z', '4Z', '9999Z'))
  .map(([n, beyond]) => new Date(Date.UTC(2025, 0, 1) + n * 3_600_000).toISOString().replace('Z', beyond));

export const USERS = ['ann@x.example', 'bob@x.example', 'cem@x.example'];
export const PROJECTS = [1, 2, 3, 4].map((n) => `00000000-0000-4000-8000-00000000000${n}`);
const CALL_IDS = Array.from({ length: 24 }, (_, n) => `call_${String(n).padStart(2, '0')}`);
export const ENTITY_IDS = Array.from({ length: 8 }, (_, n) => `00000000-0000-4000-9000-00000000000${n}`);

const project = fc.record({
  name: maybe(text),
  created_at: at,
  created_by: maybe(fc.constantFrom(...USERS)),
  is_archived: fc.boolean(),
  members: fc.uniqueArray(fc.record({ email: fc.constantFrom(...USERS), role: fc.constantFrom('lead', 'member') }), {
    maxLength: 3,
    selector: ({ email, role }) => `${email} ${role}`,
  }),
});

const call = fc.record({
  project_id: maybe(fc.constantFrom(...PROJECTS)),
  call_type: fc.constantFrom('interview', 'meeting'),
  conducted_by: maybe(fc.constantFrom(...USERS)),
  call_status: maybe(fc.constantFrom('done', 'scheduled', 'candidate')),
  cost: maybe(fc.constantFrom(0, 10, 99.5)),
  created_at: at,
  date: maybe(at),
  duration_minutes: maybe(fc.constantFrom(0, 30, 60.5)),
  expert: fc.record({
    name: maybe(text),
    job_title: maybe(text),
    organization: maybe(text),
    country: maybe(text),
    bio: maybe(text),
  }),
  rating: maybe(fc.constantFrom(1, 3, 4.5, 5)),
  segment: maybe(text),
  source: maybe(text),
  transcript: maybe(text),
  note: maybe(fc.record({ email: fc.constantFrom(...USERS), text })),
});

const entity = fc.record({
  project_id: fc.constantFrom(...PROJECTS),
  name: maybe(text),
  entity_type: maybe(fc.constantFrom('company', 'product', 'Company')),
  created_at: at,
});

export const tenant = fc.record({
  projects: fc.tuple(project, project, project, project),
  calls: fc.array(call, { minLength: 8, maxLength: CALL_IDS.length }),
  entities: fc.array(entity, { maxLength: ENTITY_IDS.length }),
});
export type Tenant = typeof tenant extends fc.Arbitrary<infer T> ? T : never;
type Call = Tenant['calls'][number];

export const FILTERS = {
  call_status: fc.constantFrom('done', 'DONE'),
  call_type: fc.constantFrom('interview', 'meeting'),
  country: text,
  job_title_contains: text,
  organization_contains: fc.constantFrom('%', '_', '\\', "'", 'u', 'Ü'),
  source_contains: fc.constantFrom('%', 'ustomer', 'ni', 'λ'),
  segment_contains: fc.constantFrom('c', '_', 'CUST', '日'),
  min_rating: fc.constantFrom(1, 3, 5),
  min_cost: fc.constantFrom(0, 10),
  max_cost: fc.constantFrom(0, 50),
  min_duration_minutes: fc.constantFrom(0, 60),
  max_duration_minutes: fc.constantFrom(30, 60.5),
  date_after: at,
  date_before: at,
};

/** One query for each filter alone, and one for each project. */
const singles = fc
  .record(FILTERS)
  .map((all): Filters[] => [
    ...Object.entries(all).map(([name, value]) => ({ scope: 'all', [name]: value }) as const),
    ...PROJECTS.map((id) => ({ scope: 'all', project_id: id }) as const),
  ]);

/** At most three random filters at once, because hardly any row would match more. */
const few = fc
  .record(FILTERS, { requiredKeys: [] })
  .chain((all) => fc.subarray(Object.entries(all), { maxLength: Math.min(3, Object.keys(all).length) }))
  .map((chosen): Filters => Object.fromEntries(chosen));

const combined = fc
  .tuple(
    fc.constantFrom<Filters[]>({}, { scope: 'mine' }, { scope: 'all' }, { scope: 'all' }, { scope: 'project' }),
    fc.constantFrom<Filters[]>(
      {},
      {},
      ...[...PROJECTS, '00000000-0000-4000-8000-000000000099'].map((id) => ({ project_id: id })),
    ),
    few,
  )
  .map((parts): Filters => Object.assign({}, ...parts));

/** The arguments of several calls of list_calls. */
export const queries = fc.tuple(singles, fc.array(combined, { minLength: 4, maxLength: 4 })).map((parts) => parts.flat());

interface FilterValues {
  scope: 'mine' | 'all' | 'project';
  project_id: string;
  call_status: string;
  call_type: string;
  country: string;
  job_title_contains: string;
  organization_contains: string;
  source_contains: string;
  segment_contains: string;
  min_rating: number;
  min_cost: number;
  max_cost: number;
  min_duration_minutes: number;
  max_duration_minutes: number;
  date_after: string;
  date_before: string;
}
export type Filters = Partial<FilterValues>;

/** The import records of a tenant. */
export function records(organization: string, { projects, calls, entities }: Tenant): object[] {
  return [
    { type: 'organization', id: organization, name: organization, tool_rate_limit: { requests: 1_000_000, period_seconds: 60 } },
    ...USERS.map((email) => ({ type: 'user', organization, email, name: email })),
    ...projects.map((fields, n) => ({ type: 'project', organization, id: PROJECTS[n], ...fields })),
    ...calls.map(({ note, ...fields }, n) => ({
      type: 'call',
      organization,
      id: CALL_IDS[n],
      ...fields,
      notes: note ? [note] : [],
    })),
    ...entities.map((fields, n) => ({ type: 'entity', organization, id: ENTITY_IDS[n], ...fields })),
  ];
}

const fold = (value: string) => value.normalize('NFC').toLowerCase();
const iso = (value: string | null) => (value === null ? null : new Date(value).toISOString());
const byTimeAndId = <T extends { at: string; id: string }>(a: T, b: T) =>
  a.at === b.at ? (a.id < b.id ? 1 : -1) : a.at < b.at ? 1 : -1;

/** Computes the rows that the tools must return to one user. */
export class Oracle {
  readonly #tenant: Tenant;
  readonly #user: string;

  constructor(of: Tenant, user: string) {
    this.#tenant = of;
    this.#user = user;
  }

  #has(n: number, role: string): boolean {
    return this.#tenant.projects[n]!.members.some((member) => member.email === this.#user && member.role === role);
  }

  sees(projectId: string | null): boolean {
    return projectId !== null && this.reasons(projectId) !== '';
  }

  /** Why the user sees the project: those of `created`, `lead` and `member` that apply, separated by spaces. */
  reasons(projectId: string): string {
    const n = PROJECTS.indexOf(projectId);
    const created = this.#tenant.projects[n]!.created_by === this.#user;
    return [created && 'created', this.#has(n, 'lead') && 'lead', this.#has(n, 'member') && 'member'].filter(Boolean).join(' ');
  }

  calls(f: Filters) {
    const contains = (value: string | null, part: string | undefined) =>
      part === undefined || (value !== null && fold(value).includes(fold(part)));
    const mine = (f.scope ?? 'mine') === 'mine';
    return this.#tenant.calls
      .map((each, n) => ({ ...each, id: CALL_IDS[n]!, at: iso(each.date ?? each.created_at)! }))
      .filter((each) => each.conducted_by === this.#user || (!mine && this.sees(each.project_id)))
      .filter((each) => f.project_id === undefined || each.project_id === f.project_id)
      .filter((each) => f.call_status === undefined || each.call_status === f.call_status)
      .filter((each) => f.call_type === undefined || each.call_type === f.call_type)
      .filter(
        (each) => f.country === undefined || (each.expert.country !== null && fold(each.expert.country) === fold(f.country)),
      )
      .filter(
        (each) =>
          contains(each.expert.job_title, f.job_title_contains) && contains(each.expert.organization, f.organization_contains),
      )
      .filter((each) => contains(each.source, f.source_contains) && contains(each.segment, f.segment_contains))
      .filter((each) => f.min_rating === undefined || (each.rating !== null && each.rating >= f.min_rating))
      .filter((each) => f.min_cost === undefined || (each.cost !== null && each.cost >= f.min_cost))
      .filter((each) => f.max_cost === undefined || (each.cost !== null && each.cost <= f.max_cost))
      .filter(
        (each) =>
          f.min_duration_minutes === undefined ||
          (each.duration_minutes !== null && each.duration_minutes >= f.min_duration_minutes),
      )
      .filter(
        (each) =>
          f.max_duration_minutes === undefined ||
          (each.duration_minutes !== null && each.duration_minutes <= f.max_duration_minutes),
      )
      .filter((each) => f.date_after === undefined || (each.date !== null && iso(each.date)! >= iso(f.date_after)!))
      .filter((each) => f.date_before === undefined || (each.date !== null && iso(each.date)! <= iso(f.date_before)!))
      .toSorted(byTimeAndId)
      .map((each) => ({
        id: each.id,
        call_status: each.call_status,
        cost: each.cost,
        country: each.expert.country,
        created_at: iso(each.created_at),
        date: iso(each.date),
        duration_minutes: each.duration_minutes,
        job_title: each.expert.job_title,
        name: each.expert.name,
        organization: each.expert.organization,
        rating: each.rating,
        segment: each.segment,
        source: each.source,
      }));
  }

  /** @returns undefined if the user must not learn that the call exists */
  call(id: string): (Call & { note: string | null }) | undefined {
    const found = this.#tenant.calls[CALL_IDS.indexOf(id)];
    if (!found || (found.conducted_by !== this.#user && !this.sees(found.project_id))) return undefined;
    return { ...found, note: found.note?.email === this.#user ? found.note.text : null } as Call & { note: string | null };
  }

  projects(scope: 'mine' | 'all', includeArchived: boolean) {
    return this.#tenant.projects
      .map((each, n) => ({ each, n, id: PROJECTS[n]!, at: iso(each.created_at)! }))
      .filter(({ each, n, id }) => (scope === 'mine' ? each.created_by === this.#user || this.#has(n, 'lead') : this.sees(id)))
      .filter(({ each }) => includeArchived || !each.is_archived)
      .toSorted(byTimeAndId)
      .map(({ each, n, id, at: created }) => {
        const labels = this.#tenant.calls.flatMap((c) => (c.project_id === id && c.segment !== null ? c.segment : []));
        return {
          id,
          name: each.name,
          created_at: created,
          is_archived: each.is_archived,
          role: this.#has(n, 'lead') ? 'lead' : this.#has(n, 'member') ? 'member' : null,
          sector: null,
          segments: [...new Set(labels)].toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))),
          status: null,
          summary: null,
        };
      });
  }

  entities(projectId: string, type: string | undefined) {
    return this.#tenant.entities
      .map((each, n) => ({ ...each, id: ENTITY_IDS[n]!, at: iso(each.created_at)! }))
      .filter((each) => each.project_id === projectId && (type === undefined || each.entity_type === type))
      .toSorted(byTimeAndId)
      .map(({ id, name, entity_type: kind, at: created }) => ({ id, name, type: kind, created_at: created }));
  }

  static readonly callIds = CALL_IDS;
}

/** The imports that run during the trial of the change feed. */
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from '@crs/crs/connection';
import { ALLOWED_FIELDS } from '@crs/records/allowed-fields';
import type { Processes } from '@crs/testing/processes';
import { loader } from '@crs/testing/load';
import { OPERATOR_CREDENTIAL } from '@crs/testing/setup';

export const ORGANIZATION = 'followed';
const CALLS = 60;
const USERS = ['ann', 'bob'].map((name) => `${name}@followed.example`);
const PROJECTS = ['a', 'b'].map((letter) => `00000000-0000-4000-8000-00000000000${letter}`);

export const FIRST_RECORDS = [
  {
    type: 'organization',
    id: ORGANIZATION,
    name: 'Followed',
    write_surface: true,
    rate_limit: { requests: 100_000_000, period_seconds: 60 },
  },
  ...USERS.map(user),
  ...PROJECTS.map((id) => project(id, 'Followed')),
];

function user(email: string): object {
  return { type: 'user', organization: ORGANIZATION, email, name: email };
}

function project(id: string, name: string): object {
  return { type: 'project', organization: ORGANIZATION, id, name };
}

type Random = () => number;

function pick<T>(random: Random, from: readonly T[]): T {
  return from[Math.floor(random() * from.length)]!;
}

function call(random: Random): object {
  const id = `call-${Math.floor(random() * CALLS)}`;
  if (random() < 0.15) return { type: 'call', organization: ORGANIZATION, id, deleted: true };
  return {
    type: 'call',
    organization: ORGANIZATION,
    id,
    created_at: '2025-03-01T00:00:00Z',
    project_id: pick(random, [null, null, ...PROJECTS]),
    conducted_by: pick(random, [null, ...USERS]),
    expert: { name: pick(random, ['Eva Muster', 'Max Muster']), organization: 'Initech' },
    participants: [{ name: 'Eva Muster', role: 'expert' }],
    summary: `Summary ${Math.floor(random() * 1e9)}`,
    transcript: [{ speaker: 'Eva Muster', text: `Said ${random()}.` }],
  };
}

function entity(random: Random): object {
  // Projects have the same ids, so that a copy must tell types apart.
  const id = random() < 0.1 ? pick(random, PROJECTS) : `00000000-0000-4000-8000-0000000001${Math.floor(10 + random() * 20)}`;
  if (random() < 0.15) return { type: 'entity', organization: ORGANIZATION, id, deleted: true };
  const name = `Entity ${Math.floor(random() * 1e9)}`;
  return { type: 'entity', organization: ORGANIZATION, id, project_id: pick(random, PROJECTS), name, description: 'Gated.' };
}

/** The records that a writer imports at once, and its mean pause between imports. */
interface Writer {
  records: (random: Random) => object[];
  pauseMs: number;
}

const importer: Writer = {
  records: (random) => Array.from({ length: 1 + Math.floor(random() * 12) }, () => call(random)),
  pauseMs: 20,
};
/** Longer pauses for deletions of projects, which delete many calls and entities, and for changes of settings, which restart all full resyncs. */
const WRITERS: Writer[] = [
  ...Array.from({ length: 4 }, () => importer),
  { records: (random) => Array.from({ length: 1 + Math.floor(random() * 6) }, () => entity(random)), pauseMs: 20 },
  {
    records: (random) => {
      const id = pick(random, PROJECTS);
      const changed = project(id, `Project ${Math.floor(random() * 1e9)}`);
      return random() < 0.5 ? [changed] : [{ type: 'project', organization: ORGANIZATION, id, deleted: true }, changed];
    },
    pauseMs: 300,
  },
  {
    records: (random) => {
      const email = pick(random, USERS);
      return [{ type: 'user', organization: ORGANIZATION, email, deleted: true }, user(email)];
    },
    pauseMs: 300,
  },
  {
    records: (random) => [
      {
        type: 'organization',
        id: ORGANIZATION,
        anonymize_interviewees: random() < 0.5,
        allowed_fields: ALLOWED_FIELDS.filter(() => random() < 0.6),
      },
    ],
    pauseMs: 700,
  },
];

/** Starts eight writers that import until they are stopped. Failures are expected, because components are killed meanwhile. */
export function startWriters(admin: Processes['admin'], random: Random): { stop(): Promise<number> } {
  let stopped = false;
  let imports = 0;
  const writers = WRITERS.map(async ({ records, pauseMs }) => {
    const operator = connect({ addresses: admin, credential: OPERATOR_CREDENTIAL });
    const importAll = loader(operator);
    while (!stopped) {
      await importAll(records(random)).then(
        () => imports++,
        () => {},
      );
      await sleep(pauseMs * (0.5 + random()));
    }
    operator.close();
  });
  return {
    stop: async () => {
      stopped = true;
      await Promise.all(writers);
      return imports;
    },
  };
}

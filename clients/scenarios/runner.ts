/** Runs one action with the TypeScript client: see "Protocol of a runner" in README.md. */
import { text } from 'node:stream/consumers';
import { CallResearch, CallResearchError, postgresStore, sqliteStore } from '@call-research/client';
import type { CallsQuery, ChangesQuery, NewProject, SyncSummary } from '@call-research/client';

interface Input {
  action: string;
  base_url: string;
  key: string;
  client?: { max_retries?: number; timeout_seconds?: number; budget_seconds?: number };
  query?: object;
  call_id?: string;
  times?: number;
  call_ids?: string[];
  project?: NewProject;
  idempotency_key?: string;
  project_id?: string;
  records?: object[];
  on_refusal?: 'abort';
  check?: boolean;
  store?: string;
}

const input = JSON.parse(await text(process.stdin)) as Input;
const { action, base_url: baseUrl, key, query = {}, client: options = {} } = input;
const seconds = (value: number | undefined) => (value === undefined ? undefined : value * 1_000);
const client = new CallResearch({
  key,
  baseUrl,
  maxRetries: options.max_retries,
  timeout: seconds(options.timeout_seconds),
  budget: seconds(options.budget_seconds),
});

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

async function* stream(records: object[]): AsyncGenerator<object> {
  yield* records;
}

async function sync(address: string): Promise<SyncSummary> {
  if (address.startsWith('sqlite:')) {
    const { DatabaseSync } = await import('node:sqlite');
    return client.sync(sqliteStore(new DatabaseSync(address.slice('sqlite:'.length))), query);
  }
  const { default: pg } = await import('pg');
  const pool = new pg.Pool({ connectionString: address });
  try {
    return await client.sync(postgresStore(pool), query);
  } finally {
    await pool.end();
  }
}

const actions: Record<string, () => Promise<unknown>> = {
  calls: () => all(client.calls(query as CallsQuery)),
  changes: () => all(client.changes(query as ChangesQuery)),
  get_call: async () => {
    const answers: unknown[] = [];
    for (let time = 0; time < (input.times ?? 1); time++) answers.push(await client.getCall(input.call_id!, query));
    return answers;
  },
  get_calls: () => Promise.all(input.call_ids!.map((id) => client.getCall(id))),
  billing_offices: () => client.billingOffices(),
  projects: () => all(client.projects()),
  entities: () => all(client.entities()),
  create_project: () =>
    client.createProject(input.project!, {
      ...(input.idempotency_key !== undefined && { idempotencyKey: input.idempotency_key }),
    }),
  get_project: () => client.getProject(input.project_id!),
  records: () => client.records(stream(input.records!), { onRefusal: input.on_refusal, check: input.check }),
  sync: async () => {
    const { changed, deleted, fullResyncs } = await sync(input.store!);
    return { changed, deleted, full_resyncs: fullResyncs };
  },
};

async function outcome(): Promise<object> {
  try {
    return { result: await actions[action]!() };
  } catch (error) {
    if (!(error instanceof CallResearchError)) throw error;
    const { name: type, code, status, message, requestIds, retryAfter, details } = error;
    return { error: { type, code, status, message, request_ids: requestIds, retry_after: retryAfter, details } };
  }
}

process.stdout.write(`${JSON.stringify(await outcome())}\n`);

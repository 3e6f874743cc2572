import { checkPage, readJson } from './answers.ts';
import { sync, type Store, type SyncOptions, type SyncSummary } from './sync.ts';
import { TagMemory } from './tag-memory.ts';
import { Transport, type Answer, type Request, type RequestOptions } from './transport.ts';
import type {
  BillingOffice,
  Call,
  CallListItem,
  CallsQuery,
  Change,
  ChangesPage,
  ChangesQuery,
  GetCallQuery,
  NewProject,
  Pagination,
  Project,
} from './types.ts';
import { VERSION } from './version.ts';

export interface ClientOptions extends Omit<RequestOptions, 'signal'> {
  /** A key of the organization, `crk_...`. */
  key: string;
  /** The base address of the API, with `/v1`. */
  baseUrl: string;
}

/** A client of one organization's key. It is safe to use for many requests at the same time; make one and share it, because it holds all its requests after a 429. */
export class CallResearch {
  readonly #transport: Transport;
  readonly #tags = new TagMemory();

  constructor({ key, baseUrl, ...options }: ClientOptions) {
    const headers = {
      Authorization: `Bearer ${key}`,
      Accept: 'application/json',
      'User-Agent': `call-research-typescript/${VERSION}`,
    };
    this.#transport = new Transport(baseUrl, headers, options);
  }

  /** The calls of a range of creation times, newest first; with `expand: 'detail'`, each in full. It asks for page after page. */
  calls(query: CallsQuery & { expand: 'detail' }, options?: RequestOptions): AsyncGenerator<Call>;
  calls(query: CallsQuery & { expand?: never }, options?: RequestOptions): AsyncGenerator<CallListItem>;
  calls(query: CallsQuery, options?: RequestOptions): AsyncGenerator<Call | CallListItem>;
  async *calls(query: CallsQuery, options?: RequestOptions): AsyncGenerator<Call | CallListItem> {
    for (let page = 1; ; page++) {
      const size = query.expand === undefined ? { per_page: 200 } : {};
      const answer = await this.#get('/calls', { ...size, ...query, page }, options);
      const { data, pagination } = readJson<{ data: (Call | CallListItem)[]; pagination: Pagination }>(answer);
      yield* data;
      if (page >= pagination.total_pages) return;
    }
  }

  /** The changes since `cursor`; without one, every call and the changes meanwhile. It ends where there are no more for now. */
  async *changes(query: ChangesQuery = {}, options?: RequestOptions): AsyncGenerator<Change> {
    for await (const { data } of this.changePages(query, options)) yield* data;
  }

  /** As {@link changes}, page by page. Keep `next_cursor` once a page is dealt with, and begin there the next time. */
  async *changePages(query: ChangesQuery = {}, options?: RequestOptions): AsyncGenerator<ChangesPage> {
    for (let { cursor } = query; ;) {
      const answer = await this.#get('/changes', { ...query, cursor }, options);
      const page = checkPage(readJson<ChangesPage>(answer), cursor);
      yield page;
      if (!page.has_more) return;
      cursor = page.next_cursor;
    }
  }

  /** One call in full. Where it hasn't changed since this client last read it, the service sends no body. */
  async getCall(callId: string, query: GetCallQuery = {}, options?: RequestOptions): Promise<Call> {
    const path = `/calls/${encodeURIComponent(callId)}`;
    const known = this.#tags.find(path, query);
    const answer = await this.#get(path, query, options, known && { 'If-None-Match': known.tag });
    if (answer.status === 304 && known) return JSON.parse(known.text) as Call;
    const call = readJson<Call>(answer);
    this.#tags.keep(path, query, { tag: answer.headers.get('ETag'), text: answer.text });
    return call;
  }

  /** The default office first, then by name. */
  async billingOffices(options?: RequestOptions): Promise<BillingOffice[]> {
    return readJson<{ data: BillingOffice[] }>(await this.#get('/billing-offices', {}, options)).data;
  }

  /**
   * Creates a project once, also where it has to be sent several times. To be sure of it beyond the life of this process, store an `idempotencyKey`
   * of your own before, and use it again afterwards; the service knows it for 24 hours.
   */
  async createProject(project: NewProject, options: RequestOptions & { idempotencyKey?: string } = {}): Promise<Project> {
    const { idempotencyKey = crypto.randomUUID(), ...rest } = options;
    const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': idempotencyKey };
    return readJson(
      await this.#transport.send({ method: 'POST', path: '/projects', headers, body: JSON.stringify(project) }, rest),
    );
  }

  async getProject(projectId: string, options?: RequestOptions): Promise<Project> {
    return readJson(await this.#get(`/projects/${encodeURIComponent(projectId)}`, {}, options));
  }

  /**
   * Brings a copy up to date: the first time with every call there is, later with what has changed. Call it again and again, such as each minute.
   * Where it is interrupted, the next one goes on.
   */
  sync(store: Store, options: SyncOptions = {}): Promise<SyncSummary> {
    return sync((query, requestOptions) => this.#get('/changes', query, requestOptions), store, options);
  }

  #get(path: string, query: object, options?: RequestOptions, headers?: Request['headers']): Promise<Answer> {
    return this.#transport.send({ method: 'GET', path, query, headers }, options);
  }
}

import { checkListPage, checkPage, readJson, type ListPage } from './responses.ts';
import { sendRecords, type RecordsOptions } from './records.ts';
import { sync, type Store, type SyncOptions, type SyncSummary } from './sync.ts';
import { BodyCache } from './body-cache.ts';
import { Transport, type RawResponse, type Request, type RequestOptions } from './transport.ts';
import type {
  BillingOffice,
  Call,
  CallListItem,
  CallsQuery,
  Change,
  ChangesPage,
  ChangesQuery,
  Entity,
  GetCallQuery,
  NewProject,
  Pagination,
  Project,
  ProjectListItem,
  RecordsResult,
} from './types.ts';
import { VERSION } from './version.ts';

export interface ClientOptions extends Omit<RequestOptions, 'signal'> {
  /** An API key of the organization, `crk_...`. */
  key: string;
  /** The base URL of the API, with `/v1`. */
  baseUrl: string;
}

/** A client of the API for one organization's key. Create one and share it: after a 429, all its requests wait. Concurrent requests are safe. */
export class CallResearch {
  readonly #transport: Transport;
  readonly #cache = new BodyCache();

  constructor({ key, baseUrl, ...options }: ClientOptions) {
    const headers = {
      Authorization: `Bearer ${key}`,
      Accept: 'application/json',
      'User-Agent': `call-research-typescript/${VERSION}`,
    };
    this.#transport = new Transport(baseUrl, headers, options);
  }

  /** Yields the calls that were created in a range of time, newest first, page by page; with `expand: 'detail'`, each call in full. */
  calls(query: CallsQuery & { expand: 'detail' }, options?: RequestOptions): AsyncGenerator<Call>;
  calls(query: CallsQuery & { expand?: never }, options?: RequestOptions): AsyncGenerator<CallListItem>;
  calls(query: CallsQuery, options?: RequestOptions): AsyncGenerator<Call | CallListItem>;
  async *calls(query: CallsQuery, options?: RequestOptions): AsyncGenerator<Call | CallListItem> {
    for (let page = 1; ; page++) {
      const size = query.expand === undefined ? { per_page: 200 } : {};
      const response = await this.#get('/calls', { ...size, ...query, page }, options);
      const { data, pagination } = readJson<{ data: (Call | CallListItem)[]; pagination: Pagination }>(response);
      yield* data;
      if (page >= pagination.total_pages) return;
    }
  }

  /** Yields the organization's projects without their people, newest first, page by page. */
  projects(options?: RequestOptions): AsyncGenerator<ProjectListItem> {
    return this.#list('/projects', options);
  }

  /** Yields the organization's entities, newest first, page by page. */
  entities(options?: RequestOptions): AsyncGenerator<Entity> {
    return this.#list('/entities', options);
  }

  /** Yields the changes after `cursor`, or every record and its later changes without one, until there are no more. */
  async *changes(query: ChangesQuery = {}, options?: RequestOptions): AsyncGenerator<Change> {
    for await (const { data } of this.changePages(query, options)) yield* data;
  }

  /** Like {@link changes}, page by page. Once you have applied a page, store its `next_cursor`, and continue from it the next time. */
  async *changePages(query: ChangesQuery = {}, options?: RequestOptions): AsyncGenerator<ChangesPage> {
    for (let { cursor } = query; ;) {
      const response = await this.#get('/changes', { ...query, cursor }, options);
      const page = checkPage(readJson<ChangesPage>(response), cursor);
      yield page;
      if (!page.has_more) return;
      cursor = page.next_cursor;
    }
  }

  /** Returns a call in full. The client caches it with its `ETag`, so the service doesn't send an unchanged call again. */
  async getCall(callId: string, query: GetCallQuery = {}, options?: RequestOptions): Promise<Call> {
    const path = `/calls/${encodeURIComponent(callId)}`;
    const known = this.#cache.find(path, query);
    const response = await this.#get(path, query, options, known && { 'If-None-Match': known.tag });
    if (response.status === 304 && known) return JSON.parse(known.text) as Call;
    const call = readJson<Call>(response);
    this.#cache.keep(path, query, { tag: response.headers.get('ETag'), text: response.text });
    return call;
  }

  /** Returns the default office first, then the others by name. */
  async billingOffices(options?: RequestOptions): Promise<BillingOffice[]> {
    return readJson<{ data: BillingOffice[] }>(await this.#get('/billing-offices', {}, options)).data;
  }

  /**
   * Creates a project once, even if the request has to be retried. If a later run of your program may repeat the creation, store an `idempotencyKey`
   * of your own first, and pass it again: for 24 hours, the same key with the same project returns the same response.
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
   * Stores and deletes records, which are the lines of an import without `organization`, in their order. Sends batches of at most 1,000 records and
   * 16 MiB. Refused records are in the result; `line` counts all records. After an error, earlier batches are stored: send all records again, which changes nothing twice.
   */
  records(records: Iterable<object> | AsyncIterable<object>, options: RecordsOptions = {}): Promise<RecordsResult> {
    return sendRecords((request, requestOptions) => this.#transport.send(request, requestOptions), records, options);
  }

  /**
   * Brings a copy up to date: the first sync stores all calls, and projects and entities if `types` has them; later ones apply what has changed. Call it
   * regularly, for example every minute. After an interruption, the next sync continues.
   */
  sync(store: Store, options: SyncOptions = {}): Promise<SyncSummary> {
    return sync((query, requestOptions) => this.#get('/changes', query, requestOptions), store, options);
  }

  async *#list<Item>(path: string, options?: RequestOptions): AsyncGenerator<Item> {
    for (let cursor: string | undefined; ;) {
      const page = checkListPage(readJson<ListPage<Item>>(await this.#get(path, { limit: 1_000, cursor }, options)), cursor);
      yield* page.data;
      if (page.next_cursor === null) return;
      cursor = page.next_cursor;
    }
  }

  #get(path: string, query: object, options?: RequestOptions, headers?: Request['headers']): Promise<RawResponse> {
    return this.#transport.send({ method: 'GET', path, query, headers }, options);
  }
}

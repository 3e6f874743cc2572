export { CallResearch, type ClientOptions } from './client.ts';
export {
  BadRequestError,
  CallResearchError,
  ConnectionError,
  NotFoundError,
  ProtocolError,
  RateLimitedError,
  ServerError,
  UnauthorizedError,
  type ErrorCode,
} from './errors.ts';
export type { RecordsOptions } from './records.ts';
export { postgresStore, sqliteStore, type PostgresConnection, type PostgresPool, type SqliteDatabase } from './stores.ts';
export type { Position, RecordType, Store, StoredChange, SyncOptions, SyncSummary } from './sync.ts';
export type { RequestOptions } from './transport.ts';
export type * from './types.ts';
export { verifyWebhook } from './webhook.ts';

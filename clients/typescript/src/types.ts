/** The names of this package for the generated types. Only this file imports them, so another generator changes only this file. */
import type * as generated from './generated/types.gen.ts';

export type {
  BillingOffice,
  Call,
  CallListItem,
  Change,
  Entity,
  LineError,
  NewProject,
  Pagination,
  Person,
  Project,
  ProjectListItem,
  RecordsResult,
} from './generated/types.gen.ts';

/** The calls to list, and the size of a page. The client sends the page numbers. */
export type CallsQuery = Omit<generated.ListCallsData['query'], 'page'>;

/** The kinds of transcript to leave out. */
export type GetCallQuery = NonNullable<generated.GetCallData['query']>;

/** The cursor to start from, the size of a page, the types of records, and whether changes have their records in full. */
export type ChangesQuery = NonNullable<generated.ListChangesData['query']>;

export type ChangesPage = generated.ChangeList;
export type WebhookMessage = generated.CallsChangedMessage | generated.PingMessage;

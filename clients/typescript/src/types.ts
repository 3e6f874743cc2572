/** The names of this package for the generated types. Nothing else imports those, so another generator is a change of this file. */
import type * as generated from './generated/types.gen.ts';

export type { BillingOffice, Call, CallListItem, NewProject, Pagination, Person, Project } from './generated/types.gen.ts';

/** Which calls, and how many on a page. Pages are counted by the client. */
export type CallsQuery = Omit<generated.ListCallsData['query'], 'page'>;

/** Which kinds of transcript to leave out. */
export type GetCallQuery = NonNullable<generated.GetCallData['query']>;

// The document doesn't describe `GET /changes` yet.
export interface Change {
  type: 'call.changed' | 'call.deleted' | 'access.changed';
  call_id: string | null;
  changed_at: string;
  call?: generated.Call;
}
export interface ChangesPage {
  data: Change[];
  next_cursor: string;
  has_more: boolean;
}
export interface ChangesQuery extends GetCallQuery {
  cursor?: string;
  limit?: number;
  expand?: 'detail';
}

/** The names of this package for the generated types. Nothing else imports those, so another generator is a change of this file. */
import type * as generated from './generated/types.gen.ts';

export type {
  BillingOffice,
  Call,
  CallListItem,
  Change,
  NewProject,
  Pagination,
  Person,
  Project,
} from './generated/types.gen.ts';

/** Which calls, and how many on a page. Pages are counted by the client. */
export type CallsQuery = Omit<generated.ListCallsData['query'], 'page'>;

/** Which kinds of transcript to leave out. */
export type GetCallQuery = NonNullable<generated.GetCallData['query']>;

/** Where to begin, how many on a page, and whether with calls in full. */
export type ChangesQuery = NonNullable<generated.ListChangesData['query']>;

export type ChangesPage = generated.ChangeList;

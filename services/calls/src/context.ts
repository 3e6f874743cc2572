import type { RecordContext } from '@crs/kit/record-service';

/** What handlers work with. */
export type Context = RecordContext;

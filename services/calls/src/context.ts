import type { RecordContext } from '@crs/kit/product/record-service';

/** What handlers work with. */
export type Context = RecordContext;

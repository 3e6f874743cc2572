import * as column from '@crs/kit/data/column';
import type { Statement } from '@crs/kit/data/database';

const HEAD = { organization: column.text, position: column.bigint };

/** Returns the statements on the table that `createFeedHeads` creates. */
export function feedHeadsOf(service: string) {
  const table = `${service}.feed_heads`;
  return {
    put: (organization: string, position: string, movedAt: Date): Statement => ({
      name: 'put_feed_head',
      text: `insert into ${table} (organization, position, moved_at) values ($1, $2, $3)
        on conflict (organization) do update set position = excluded.position, moved_at = excluded.moved_at`,
      values: [organization, position, movedAt],
    }),

    /** Lists the heads of all organizations that moved after a time. */
    list: (since: Date): Statement<column.RowOf<typeof HEAD>> => ({
      name: 'list_feed_heads',
      row: HEAD,
      text: `select organization, position from ${table} where moved_at > $1`,
      values: [since],
    }),

    erase: (organization: string): Statement => ({
      name: 'erase_feed_head',
      text: `delete from ${table} where organization = $1`,
      values: [organization],
    }),
  };
}

export type FeedHeads = ReturnType<typeof feedHeadsOf>;

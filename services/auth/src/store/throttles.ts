import * as column from '@crs/kit/data/column';
import type { Statement } from '@crs/kit/data/database';

const THROTTLE = { tries: column.integer, resetsInSeconds: column.integer };

/** Counts a try. A window begins with its first try. */
export function countTry(bucket: Buffer, windowSeconds: number): Statement<column.RowOf<typeof THROTTLE>> {
  return {
    name: 'count_try',
    row: THROTTLE,
    text: `insert into auth.throttles as t (bucket, tries, resets_at) values ($1, 1, now() + $2::integer * interval '1 second')
      on conflict (bucket) do update set
        tries = case when t.resets_at <= now() then 1 else t.tries + 1 end,
        resets_at = case when t.resets_at <= now() then excluded.resets_at else t.resets_at end
      returning tries, ceil(extract(epoch from resets_at - now()))::integer as "resetsInSeconds"`,
    values: [bucket, windowSeconds],
  };
}

export function forgetTries(bucket: Buffer): Statement {
  return { name: 'forget_tries', text: 'delete from auth.throttles where bucket = $1', values: [bucket] };
}

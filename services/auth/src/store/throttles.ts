import * as column from '@crs/kit/data/column';
import type { Statement } from '@crs/kit/data/database';

/** Counts an attempt. A window begins with its first attempt. */
export function countTry(bucket: Buffer, windowSeconds: number): Statement<{ tries: number; resetsInSeconds: number }> {
  return {
    name: 'count_try',
    row: { tries: column.integer, resetsInSeconds: column.integer },
    text: `insert into auth.throttles as t (bucket, tries, resets_at) values ($1, 1, now() + $2::integer * interval '1 second')
      on conflict (bucket) do update set
        tries = case when t.resets_at <= now() then 1 else t.tries + 1 end,
        resets_at = case when t.resets_at <= now() then excluded.resets_at else t.resets_at end
      returning tries, ceil(extract(epoch from resets_at - now()))::integer as "resetsInSeconds"`,
    values: [bucket, windowSeconds],
  };
}

export function deleteTries(bucket: Buffer): Statement {
  return { name: 'forget_tries', text: 'delete from auth.throttles where bucket = $1', values: [bucket] };
}

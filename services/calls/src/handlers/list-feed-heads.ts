import type { RecordContext } from '@crs/records/record-service';
import { directoryScope } from '@crs/kit/data/scope';
import { rpc } from '@crs/kit/rpc/server';
import type { ListFeedHeadsRequest, ListFeedHeadsResponse } from '@crs/proto/crs/feeds/v1/feeds';
import { feedHeads } from '../store/feed.ts';

/** Longer than a writing transaction, whose head has the time of its begin, plus the difference of clocks. */
const RECENT_MS = 90_000;

export function listFeedHeads({ db }: RecordContext) {
  return rpc(
    { program: { name: 'webhooks', token: 'none' } },
    async ({ all }: ListFeedHeadsRequest, call): Promise<ListFeedHeadsResponse> => {
      const since = new Date(all ? 0 : Date.now() - RECENT_MS);
      const heads = await db.read(directoryScope(call), feedHeads.list(since));
      return { heads: heads.map(({ organization, position }) => ({ organizationId: organization, position: Number(position) })) };
    },
  );
}

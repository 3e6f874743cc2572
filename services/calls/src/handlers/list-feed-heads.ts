import { setTimeout as sleep } from 'node:timers/promises';
import type { RecordContext } from '@crs/records/record-service';
import { directoryScope } from '@crs/kit/data/scope';
import { rpc } from '@crs/kit/rpc/server';
import type { ListFeedHeadsRequest, ListFeedHeadsResponse } from '@crs/proto/crs/feeds/v1/feeds';
import { feedHeads } from '../store/feed.ts';

/** Longer than a writing transaction, whose head has the time of its begin, plus the difference of clocks. */
const RECENT_MS = 90_000;
/** While a request waits. An endpoint of webhooks must hear of a change within a second. */
const READ_AGAIN_MS = 800;

export function listFeedHeads({ db }: RecordContext) {
  return rpc(
    { program: { name: 'webhooks', token: 'none' } },
    async ({ all, waitMs }: ListFeedHeadsRequest, call): Promise<ListFeedHeadsResponse> => {
      const read = () => db.read(directoryScope(call), feedHeads.list(new Date(all ? 0 : Date.now() - RECENT_MS)));
      const until = Date.now() + waitMs;
      let heads = await read();
      while (heads.length === 0 && Date.now() + READ_AGAIN_MS <= until) {
        await sleep(READ_AGAIN_MS, undefined, { signal: call.signal });
        heads = await read();
      }
      return { heads: heads.map(({ organization, position }) => ({ organizationId: organization, position: Number(position) })) };
    },
  );
}

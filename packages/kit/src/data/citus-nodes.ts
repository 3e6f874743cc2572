import { LRUCache } from 'lru-cache';
import { FairQueue, type FairQueueOptions, type Release } from '../limits/fair-queue.ts';
import { integer } from './column.ts';
import { EVERY_ORGANIZATION, type Scope } from './scope.ts';

/** Finds the node with the rows of an organization, which is the same for all tables. Only the coordinator's catalog is read. */
export const FIND_NODE = {
  name: 'find-node',
  row: { node: integer },
  text: `select groupid as node from pg_dist_placement where shardid = (
    select get_shard_id_for_distribution_column(logicalrelid, $1::text) from pg_dist_partition
      where partmethod = 'h' and has_table_privilege(logicalrelid, 'select') limit 1)`,
};

/** The share of the connections that may work for the organizations on one node. */
const NODE_SHARE = 0.75;

/** Organizations rarely move. Until the new node is found, their work queues for the old one. */
const NODE_CACHE = { max: 100_000, ttl: 60_000, allowStale: true };

/**
 * Bounds the work for each node of Citus. Otherwise statements that wait for a stalled node could hold every connection of the pool. This leaves a
 * quarter of them to organizations on other nodes.
 */
export class NodeQueues {
  readonly #options: FairQueueOptions;
  /** Cached by organization. */
  readonly #nodes: LRUCache<string, string>;
  readonly #queues = new Map<string, FairQueue>();

  /**
   * @param options of the queue of the whole pool
   * @param find returns the node with the rows of an organization
   */
  constructor(options: FairQueueOptions, find: (organization: string) => Promise<string>) {
    this.#options = options;
    this.#nodes = new LRUCache({ ...NODE_CACHE, fetchMethod: find });
  }

  /** Acquires a slot of the organization's node. @returns undefined for rows on the coordinator or on all nodes */
  async acquire(scope: Scope): Promise<Release | undefined> {
    const { organization } = scope;
    if (organization === '' || organization === EVERY_ORGANIZATION) return undefined;
    const node = await this.#nodes.forceFetch(organization);
    return this.#queueOf(node).acquire(organization, scope);
  }

  close(): void {
    for (const queue of this.#queues.values()) queue.close();
  }

  #queueOf(node: string): FairQueue {
    let queue = this.#queues.get(node);
    if (!queue) {
      const { name, total } = this.#options;
      const share = Math.max(1, Math.floor(total * NODE_SHARE));
      queue = new FairQueue({ ...this.#options, name: `node-${node}-${name}`, total: share });
      this.#queues.set(node, queue);
    }
    return queue;
  }
}

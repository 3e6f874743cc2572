import { protectByTenant, roleOf, type Migration } from '@crs/kit/data/migration';

type Connection = Parameters<Migration['up']>[0];

/**
 * Creates the tables of a service's feed of changes: an entry per record, at the position of its latest change. A transaction that changes records assigns
 * their positions last, and locks the feed's row until it commits. So positions are in commit order, and a reader that sees a position sees all
 * earlier ones.
 * @param idType the SQL type of the records' ids
 */
export async function createFeed(db: Connection, service: string, idType: 'text collate "C"' | 'uuid'): Promise<void> {
  await db.raw(`
    create table ${service}.feeds (
      organization text collate "C" primary key,
      secret bytea not null,
      position bigint not null,
      pruned bigint not null default 0
    );
    comment on column ${service}.feeds.secret is 'protects cursors, so that cursors of another feed, such as the one before a restore, are refused';
    comment on column ${service}.feeds.position is 'the last assigned position';
    comment on column ${service}.feeds.pruned is 'the highest position of a pruned deletion';

    create table ${service}.changes (
      organization text collate "C" not null,
      record_id ${idType} not null,
      position bigint not null,
      changed_at timestamptz(3) not null,
      deleted boolean not null,
      primary key (organization, record_id)
    );
    -- Two indexes, so that a new follower, which needs no deletions, skips them.
    create index changes_live on ${service}.changes (organization, position) where not deleted;
    create index changes_deleted on ${service}.changes (organization, position) where deleted;
  `);
  for (const table of ['feeds', 'changes']) await protectByTenant(db, service, table);
  await db.raw(`grant select, insert, update, delete on ${service}.feeds, ${service}.changes to ${roleOf(service)}`);
}

/**
 * Creates the table of the feeds' last positions, which the webhook sender polls for all organizations at once. It has no tenant content and no row-level
 * security, so Citus keeps it on the coordinator: a poll reaches no other node, and works while one is down.
 */
export async function createFeedHeads(db: Connection, service: string): Promise<void> {
  await db.raw(`
    create table ${service}.feed_heads (
      organization text collate "C" primary key,
      position bigint not null,
      moved_at timestamptz(3) not null
    );
    -- Without an index on moved_at, whose updates would then grow every index.
    grant select, insert, update, delete on ${service}.feed_heads to ${roleOf(service)};
  `);
}

export async function dropFeed(db: Connection, service: string): Promise<void> {
  await db.raw(`drop table ${service}.changes, ${service}.feeds`);
}

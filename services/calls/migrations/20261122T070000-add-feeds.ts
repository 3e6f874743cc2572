import type { Knex } from 'knex';
import { protectByTenant, roleOf, type Migration } from '@crs/kit/data/migration';

/** The feed of an organization's changes: an entry for each call, at the place of its latest change. */
export const addFeeds: Migration = {
  name: '20261122T070000-add-feeds',

  async up(db: Knex) {
    await db.raw(`set local lock_timeout = '5s'`);
    await db.raw(`
      -- A transaction that changes calls takes their places from \`place\` as its last work. The lock of the row is held until the commit,
      -- so the order of places is the order of commits, and whoever sees a place sees all earlier ones.
      create table calls.feeds (
        organization text collate "C" primary key,
        secret bytea not null,
        place bigint not null,
        forgotten bigint not null default 0
      );
      comment on column calls.feeds.secret is 'seals cursors: cursors of another feed, as before a restore, do not open';
      comment on column calls.feeds.place is 'the last place that was given';
      comment on column calls.feeds.forgotten is 'the highest place of a deletion that was forgotten';

      create table calls.changes (
        organization text collate "C" not null,
        call_id text collate "C" not null,
        place bigint not null,
        changed_at timestamptz(3) not null,
        deleted boolean not null,
        primary key (organization, call_id)
      );
      -- A follower who begins reads no deletions, however many there are.
      create index changes_live on calls.changes (organization, place) where not deleted;
      create index changes_deleted on calls.changes (organization, place) where deleted;

      alter table calls.calls add column bytes integer;
      comment on column calls.calls.bytes is 'about the length of the detail without transcripts; null: not known';
      alter table calls.transcripts add column bytes integer;
      comment on column calls.transcripts.bytes is 'about the length of the entry in a detail; null: not known';
    `);
    for (const table of ['feeds', 'changes']) await protectByTenant(db, 'calls', table);
    await db.raw(`grant select, insert, update, delete on calls.feeds, calls.changes to ${roleOf('calls')}`);
  },

  async down(db: Knex) {
    await db.raw('alter table calls.transcripts drop column bytes');
    await db.raw('alter table calls.calls drop column bytes');
    await db.raw('drop table calls.changes, calls.feeds');
  },
};

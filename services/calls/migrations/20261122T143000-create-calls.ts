import type { Knex } from 'knex';
import { protectByTenant, roleOf, type Migration } from '@crs/kit/data/migration';
import { createFeed, createFeedHeads, dropFeed } from '@crs/records/feed/tables';

/**
 * Calls and their dependent rows. The organization comes first in every key. Ids are compared and ordered by code point (`collate "C"`), so that no
 * response depends on the database's locale. The service writes `*_folded` columns, which are compared byte by byte.
 */
export const createCalls: Migration = {
  name: '20261122T143000-create-calls',

  async up(db: Knex) {
    await db.raw(`
      create table calls.calls (
        organization text collate "C" not null,
        call_id text collate "C" not null,
        project_id uuid,
        call_type text not null check (call_type in ('interview', 'meeting')),
        call_status text check (call_status in
          ('scheduled', 'reached_out', 'not_scheduled', 'done', 'rescheduled', 'not_interested', 'canceled', 'candidate')),
        anonymity_status text check (anonymity_status in ('not_requested', 'started', 'complete', 'errored')),
        conducted_by uuid,
        created_at timestamptz(3) not null,
        updated_at timestamptz(3) not null,
        date timestamptz(3),
        recency timestamptz(3) not null generated always as (coalesce(date, created_at)) stored,
        duration_minutes double precision check (duration_minutes >= 0),
        cost double precision check (cost >= 0),
        rating double precision check (rating between 1 and 5),
        segment text,
        source text,
        country text,
        job_title text,
        employer text,
        segment_folded text collate "C",
        source_folded text collate "C",
        country_folded text collate "C",
        job_title_folded text collate "C",
        employer_folded text collate "C",
        name text,
        anonymized_name text,
        detail_hash bytea not null,
        record_hash bytea not null,
        line_hash bytea,
        list_item_json text not null,
        detail_json text not null,
        clean text,
        verbatim text,
        verbatim_segments text,
        redacted text,
        redacted_segments text
      );
      comment on column calls.calls.detail_hash is 'hash of everything in the REST detail: updated_at changes with it';
      comment on column calls.calls.record_hash is 'hash of the whole record: importing it again changes nothing';
      comment on column calls.calls.line_hash is 'hash of the imported line; null: the call was changed since';
      comment on column calls.calls.list_item_json is 'the REST list item, as JSON in parts';
      comment on column calls.calls.detail_json is 'the REST detail without transcripts, as JSON in parts, with placeholders';
      comment on column calls.calls.verbatim is 'the text as a JSON string, with placeholders for the interviewee''s name';
      -- For the organization's list.
      create index calls_created on calls.calls (organization, created_at desc, call_id desc);
      -- For lists with updated_since.
      create index calls_updated on calls.calls (organization, updated_at, created_at);
      -- A user's list (keyset over recency within a project) and the calls that a user conducted.
      create index calls_project_recency on calls.calls (organization, project_id, recency desc, call_id desc);
      create index calls_conductor_recency on calls.calls (organization, conducted_by, recency desc, call_id desc) where conducted_by is not null;
      -- The primary key is created last: while the table is empty, all its indexes have the same cost, and the planner chooses the newest. A connection
      -- keeps such a plan, for example of a foreign-key check, until the table is analyzed. With any other index, it would read the whole organization
      -- for each row.
      -- squawk-ignore adding-serial-primary-key-field
      alter table calls.calls add primary key (organization, call_id);

      create table calls.notes (
        organization text collate "C" not null,
        call_id text collate "C" not null,
        user_id uuid not null,
        text text not null,
        primary key (organization, call_id, user_id),
        foreign key (organization, call_id) references calls.calls on delete cascade
      );
      create index notes_by_user on calls.notes (organization, user_id);

      -- The number of an organization's calls by UTC day of creation, updated in the transaction that writes the calls. So the cost of totals and deep
      -- pages depends on the number of days, not of calls.
      create table calls.call_days (
        organization text collate "C" not null,
        day date not null,
        calls integer not null check (calls >= 0),
        primary key (organization, day)
      );

      -- The secret that anonymized names are derived from. Never rotated, because every anonymized name would change.
      create table calls.name_secrets (
        organization text collate "C" primary key,
        secret bytea not null
      );

      -- The ledger of erasures of people, and the state of those under way. It must not contain what was erased, so it has digests.
      create table calls.erasures (
        organization text collate "C" not null,
        erasure_id uuid not null,
        at timestamptz(3) not null,
        operator text not null,
        kind text not null check (kind in ('person', 'calls')),
        salt text not null,
        email text,
        names text[] not null,
        employer text,
        changed integer not null default 0,
        deleted integer not null default 0,
        held integer not null default 0,
        reached text collate "C",
        completed_at timestamptz(3),
        primary key (organization, erasure_id)
      );
      comment on column calls.erasures.reached is 'the last call that was looked at; null: complete';

      create table calls.erased_calls (
        organization text collate "C" not null,
        erasure_id uuid not null,
        call_digest text collate "C" not null,
        held boolean not null,
        primary key (organization, call_digest, erasure_id)
      );
      comment on column calls.erased_calls.held is 'a legal hold kept the call as it was';
      create index erased_calls_of_erasure on calls.erased_calls (organization, erasure_id, call_digest);

      -- What the last runs of retention did.
      create table calls.retention (
        organization text collate "C" primary key,
        counted_for timestamptz(3),
        day date not null,
        deleted integer not null check (deleted >= 0)
      );
      comment on column calls.retention.counted_for is 'when the settings changed under which a run has counted; under others, a run only counts';
      comment on column calls.retention.deleted is 'calls that were deleted on this day in UTC';

      -- Legal holds in force: of all calls of a project, later ones included, or of the calls in held_calls.
      create table calls.holds (
        organization text collate "C" not null,
        hold_id uuid not null,
        label text not null,
        project_id uuid,
        created_at timestamptz(3) not null,
        created_by text not null,
        primary key (organization, hold_id)
      );
      comment on column calls.holds.project_id is 'null: the hold names single calls';
      comment on column calls.holds.created_by is 'the name of the operator';

      -- The second foreign key is a safety net: no statement can delete a call that a hold names.
      create table calls.held_calls (
        organization text collate "C" not null,
        call_id text collate "C" not null,
        hold_id uuid not null,
        foreign key (organization, hold_id) references calls.holds on delete cascade,
        foreign key (organization, call_id) references calls.calls
      );
      create index held_calls_by_hold on calls.held_calls (organization, hold_id);
      -- Last, for the reason given above: the deletion of a call checks the key by it.
      -- squawk-ignore adding-serial-primary-key-field
      alter table calls.held_calls add primary key (organization, call_id, hold_id);
    `);
    for (const table of [
      ...['calls', 'notes', 'call_days', 'name_secrets', 'retention', 'holds', 'held_calls', 'erasures', 'erased_calls'],
    ]) {
      await protectByTenant(db, 'calls', table);
    }
    await db.raw(`
      grant select, insert, update, delete on
        calls.calls, calls.notes, calls.call_days, calls.retention, calls.erasures, calls.erased_calls to ${roleOf('calls')};
      grant select, insert, delete on calls.name_secrets, calls.holds, calls.held_calls to ${roleOf('calls')};
    `);
    await createFeed(db, 'calls', 'text collate "C"');
    await createFeedHeads(db, 'calls');
  },

  async down(db: Knex) {
    await dropFeed(db, 'calls');
    await db.raw(`drop table calls.feed_heads, calls.erased_calls, calls.erasures, calls.held_calls, calls.holds, calls.retention, calls.name_secrets,
      calls.call_days, calls.notes, calls.calls`);
  },
};

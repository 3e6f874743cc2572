import type { Knex } from 'knex';
import { protectByTenant, roleOf, type Migration } from '@crs/kit/data/migration';

/**
 * Webhook endpoints, with the message that each is to receive next. `due` stands above tenants and holds no tenant content: the sender finds the endpoints of
 * all organizations there that it must look at.
 */
export const createWebhooks: Migration = {
  name: '20261126T013000-create-webhooks',

  async up(db: Knex) {
    await db.raw(`
      create table webhooks.endpoints (
        organization text collate "C" not null,
        webhook_id text collate "C" not null,
        -- Unique, so that concurrent requests can't exceed the number of endpoints.
        slot integer not null check (slot between 1 and 20),
        organization_created_at timestamptz(3) not null,
        url text not null,
        secret_encrypted bytea not null,
        previous_secret_encrypted bytea,
        previous_until timestamptz(3),
        disabled_by text check (disabled_by in ('operator', 'gone', 'failing')),
        created_at timestamptz(3) not null,
        cursor text not null,
        failures integer not null default 0,
        failing_since timestamptz(3),
        -- The message that is being delivered. It stays until a receiver accepts it.
        message_id text collate "C",
        message_body text,
        message_cursor text,
        primary key (organization, webhook_id),
        unique (organization, slot)
      );
      comment on column webhooks.endpoints.organization_created_at is 'an endpoint never serves a later organization of the same id';
      comment on column webhooks.endpoints.cursor is 'how far the endpoint has read the feed';
      comment on column webhooks.endpoints.message_cursor is 'becomes the cursor once the message is delivered';

      create table webhooks.deliveries (
        organization text collate "C" not null,
        webhook_id text collate "C" not null,
        delivery_id uuid not null,
        at timestamptz(3) not null,
        message_id text collate "C" not null,
        message_type text collate "C" not null,
        status integer,
        problem text,
        duration_ms integer not null,
        primary key (organization, webhook_id, delivery_id)
      );
      create index deliveries_by_time on webhooks.deliveries (organization, webhook_id, at);
    `);
    for (const table of ['endpoints', 'deliveries']) await protectByTenant(db, 'webhooks', table);
    await db.raw(`
      create table webhooks.due (
        organization text collate "C" not null,
        webhook_id text collate "C" not null,
        due_at timestamptz(3),
        lease uuid,
        leased_until timestamptz(3),
        slow boolean not null default false,
        wakes bigint not null default 0,
        feed_position bigint not null default -1,
        settings_version bigint not null default -1,
        primary key (organization, webhook_id)
      );
      comment on column webhooks.due.due_at is 'null: nothing to deliver';
      comment on column webhooks.due.leased_until is 'by the clock of the database, which all senders share; other times are by that of a sender';
      comment on column webhooks.due.wakes is 'counts what the endpoint must hear of, so that a sender notices what comes while it has the lease';
      comment on column webhooks.due.slow is 'the last attempt was slow or failed: it may use only a part of the places of the sender';
      create index due_by_time on webhooks.due (due_at) where due_at is not null;
      grant select, insert, update, delete on webhooks.endpoints, webhooks.deliveries, webhooks.due to ${roleOf('webhooks')};
    `);
  },

  async down(db: Knex) {
    await db.raw('drop table webhooks.due, webhooks.deliveries, webhooks.endpoints');
  },
};

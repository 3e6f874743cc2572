/** Signing keys, and the authorization server's clients and stored data. They stand above tenants. */
export const AUTHORIZATION_SERVER = `
  create table auth.caller_keys (
    key_id text collate "C" primary key,
    private_key_encrypted bytea not null,
    sign_from timestamptz(3) not null,
    created_at timestamptz(3) not null default now()
  );

  -- Keys that access tokens are signed with. Unlike caller keys they stay: tokens may live for years.
  create table auth.token_keys (
    key_id text collate "C" primary key,
    private_key_encrypted bytea not null,
    created_at timestamptz(3) not null default now(),
    sign_from timestamptz(3) not null default now(),
    protected_until timestamptz(3) -- when the last token of an operator or a user that it signed expires
  );

  -- Without private keys.
  create table auth.retired_keys (
    key_id text collate "C" primary key,
    sign_from timestamptz(3) not null,
    retired_at timestamptz(3) not null default now()
  );

  -- Clients that an operator has registered.
  create table auth.clients (
    client_id text collate "C" primary key,
    name text not null,
    redirect_uris text[] not null,
    secret_encrypted bytea, -- null: a public client
    created_at timestamptz(3) not null default now()
  );

  -- The stored data of the authorization server. The organization of a code or a refresh token is known only after the row is found.
  create table auth.oidc_payloads (
    model text collate "C" not null,
    id_digest bytea not null, -- a digest, because most ids are secrets
    payload_encrypted bytea not null,
    uid_digest bytea, -- only sessions have this second id
    grant_id text collate "C",
    expires_at timestamptz(3) not null,
    consumed_at timestamptz(3),
    -- When unauthenticated clients store too many authorizations and clients, those that a browser came back for are deleted last.
    browser_returned boolean not null default false,
    primary key (model, id_digest)
  );
  create index oidc_payloads_by_uid on auth.oidc_payloads (uid_digest) where uid_digest is not null;
  create index oidc_payloads_by_grant on auth.oidc_payloads (grant_id) where grant_id is not null;
  create index oidc_payloads_by_expiry on auth.oidc_payloads (expires_at);

  -- The number of tries in a window that begins with the first one.
  create table auth.throttles (
    bucket bytea primary key,
    tries integer not null,
    resets_at timestamptz(3) not null
  );
  create index throttles_by_reset on auth.throttles (resets_at);
`;

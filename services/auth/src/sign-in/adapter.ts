import type { Adapter, AdapterPayload } from 'oidc-provider';
import type { Statement } from '@crs/kit/data/database';
import type { Seal } from '@crs/kit/data/seal';
import { digestOf } from '@crs/kit/api-key';
import { auditEntry } from '../store/audit.ts';
import { findClient } from '../store/clients.ts';
import { revokeConsent } from '../store/consents.ts';
import {
  consumePayload,
  destroyPayload,
  destroyPayloadsOfGrant,
  findPayload,
  findPayloadByUid,
  MOST_OF_STRANGERS,
  upsertPayload,
  type PayloadKey,
  type PayloadRow,
} from '../store/oidc-payloads.ts';
import { parseAccountId } from './accounts.ts';
import { clientMetadata, isPreRegistered } from './clients.ts';
import { credentialScopeNow, directoryScopeNow, type SignInContext } from './context.ts';
import { errors } from './oidc-library.ts';

/** A self-registered client is deleted after a day, unless somebody consents to it. A consent keeps it for as long as it lasts itself. */
const UNCONSENTED_CLIENT_SECONDS = 86_400;
/** A refresh token that is used twice within this time is a retry. Later it counts as stolen. */
const REFRESH_GRACE_SECONDS = 30;
/** Bounds of what strangers may have stored, in UTF-16 code units: the `state` of an authorization, and all of one payload as JSON. */
const MAX_STATE = 2_048;
const MAX_STRANGERS_PAYLOAD = 8_192;

export function payloadKey(model: string, id: string): PayloadKey {
  return { model, idDigest: digestOf(id) };
}

/** Stores one model of oidc-provider in PostgreSQL, so that any replica can serve the next request. */
export function createAdapter(context: Pick<SignInContext, 'db' | 'seals'>, model: string): Adapter {
  if (model === 'Client') return new ClientAdapter(context, model);
  if (model === 'Grant') return new GrantAdapter(context, model);
  return new PayloadAdapter(context, model);
}

class PayloadAdapter implements Adapter {
  readonly #model: string;
  readonly #seal: Seal;
  readonly #graceSeconds: number;
  protected readonly db: SignInContext['db'];

  constructor({ db, seals }: Pick<SignInContext, 'db' | 'seals'>, model: string) {
    this.db = db;
    this.#model = model;
    this.#seal = seals.oidc_payloads;
    this.#graceSeconds = model === 'RefreshToken' ? REFRESH_GRACE_SECONDS : 0;
  }

  async upsert(id: string, payload: AdapterPayload, expiresIn = UNCONSENTED_CLIENT_SECONDS): Promise<void> {
    const key = payloadKey(this.#model, id);
    const json = JSON.stringify(payload);
    if (Object.hasOwn(MOST_OF_STRANGERS, this.#model)) checkSize(payload, json);
    await this.#run(
      upsertPayload({
        ...key,
        payloadSealed: this.#seal.seal(Buffer.from(json), boundOf(key)),
        uidDigest: payload.uid === undefined ? undefined : digestOf(payload.uid),
        grantId: this.#model === 'Grant' ? id : payload.grantId,
        expiresInSeconds: Math.ceil(expiresIn),
      }),
    );
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    const [row] = await this.#run(findPayload(payloadKey(this.#model, id), this.#graceSeconds));
    return row && this.#open(row);
  }

  async findByUid(uid: string): Promise<AdapterPayload | undefined> {
    const [row] = await this.#run(findPayloadByUid(this.#model, digestOf(uid)));
    return row && this.#open(row);
  }

  /** Belongs to the device flow, which is off. */
  async findByUserCode(): Promise<undefined> {}

  async consume(id: string): Promise<void> {
    const [consumed] = await this.#run(consumePayload(payloadKey(this.#model, id), this.#graceSeconds));
    // Two requests at once can both find it unused. Only one of them consumes it.
    if (!consumed) throw new errors.InvalidGrant('already used');
  }

  async destroy(id: string): Promise<void> {
    await this.#run(destroyPayload(payloadKey(this.#model, id)));
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    await this.#run(destroyPayloadsOfGrant(this.#model, grantId));
  }

  #run<Row>(statement: Statement<Row>): Promise<Row[]> {
    return this.db.run(directoryScopeNow(), statement);
  }

  #open({ idDigest, payloadSealed, consumed }: PayloadRow): AdapterPayload {
    const payload = JSON.parse(this.#seal.open(payloadSealed, boundOf({ model: this.#model, idDigest })).toString());
    return consumed ? { ...payload, consumed } : payload;
  }
}

/** @throws InvalidRequest, which the client hears */
function checkSize({ params }: AdapterPayload, json: string): void {
  const state = params?.['state'];
  if (typeof state === 'string' && state.length > MAX_STATE)
    throw new errors.InvalidRequest(`state must have at most ${MAX_STATE} characters`);
  if (json.length > MAX_STRANGERS_PAYLOAD)
    throw new errors.InvalidRequest(
      `the request is too large: its parameters must have at most ${MAX_STRANGERS_PAYLOAD} characters`,
    );
}

function boundOf({ model, idDigest }: PayloadKey): string {
  return `${model}:${idDigest.toString('base64url')}`;
}

/** Self-registered clients are payloads. Clients that operators register have a table. */
class ClientAdapter extends PayloadAdapter {
  readonly #secrets: Seal;

  constructor(context: Pick<SignInContext, 'db' | 'seals'>, model: string) {
    super(context, model);
    this.#secrets = context.seals.clients;
  }

  override async find(id: string): Promise<AdapterPayload | undefined> {
    if (!isPreRegistered(id)) return super.find(id);
    const [row] = await this.db.read(directoryScopeNow(), findClient(id));
    return row && clientMetadata(row, this.#secrets);
  }
}

/** oidc-provider's Grant is one half of a consent. The row in `auth.grants` is the other, and it decides whether access tokens are valid. */
class GrantAdapter extends PayloadAdapter {
  /** Called when the client revokes its tokens, and when a code or a refresh token was used twice. */
  override async destroy(id: string): Promise<void> {
    const grant = await super.find(id);
    if (!grant) return;
    const { organization } = parseAccountId(grant.accountId!);
    await this.db.transact(credentialScopeNow(organization), async (query) => {
      const revoked = await revokeConsent(query, organization, id);
      if (revoked) await query(auditEntry(organization, 'sign-in', 'connection.revoke', id));
    });
  }
}

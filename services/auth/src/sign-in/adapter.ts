import type { Adapter, AdapterPayload } from 'oidc-provider';
import type { Statement } from '@crs/kit/data/database';
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
  MAX_UNAUTHENTICATED_PAYLOADS,
  upsertPayload,
  type PayloadKey,
  type PayloadRow,
} from '../store/oidc-payloads.ts';
import { parseAccountId } from './accounts.ts';
import { clientMetadata, isPreRegistered } from './clients.ts';
import { credentialScopeNow, directoryScopeNow, type SignInContext } from './context.ts';
import { errors } from './oidc-library.ts';

/** A self-registered client is deleted after a day, unless a user consents to it. It is then kept as long as the consent. */
const UNCONSENTED_CLIENT_SECONDS = 86_400;
/** A second use of a refresh token within this time is a retry. A later one means that the token was stolen. */
const REFRESH_GRACE_SECONDS = 30;
/** Bounds of what unauthenticated clients can store, in UTF-16 code units: `state`, and one whole payload as JSON. */
const MAX_STATE = 2_048;
const MAX_UNAUTHENTICATED_PAYLOAD = 8_192;

type AdapterContext = Pick<SignInContext, 'db' | 'encrypters'>;

export function payloadKey(model: string, id: string): PayloadKey {
  return { model, idDigest: digestOf(id) };
}

/** Stores one model of oidc-provider in PostgreSQL, so that any replica can serve the next request. */
export function createAdapter(context: AdapterContext, model: string): Adapter {
  if (model === 'Client') return new ClientAdapter(context, model);
  if (model === 'Grant') return new GrantAdapter(context, model);
  return new PayloadAdapter(context, model);
}

class PayloadAdapter implements Adapter {
  protected readonly context: AdapterContext;
  readonly #model: string;
  readonly #graceSeconds: number;

  constructor(context: AdapterContext, model: string) {
    this.context = context;
    this.#model = model;
    this.#graceSeconds = model === 'RefreshToken' ? REFRESH_GRACE_SECONDS : 0;
  }

  async upsert(id: string, payload: AdapterPayload, expiresIn = UNCONSENTED_CLIENT_SECONDS): Promise<void> {
    const key = payloadKey(this.#model, id);
    const json = JSON.stringify(payload);
    if (Object.hasOwn(MAX_UNAUTHENTICATED_PAYLOADS, this.#model)) checkSize(payload, json);
    await this.#run(
      upsertPayload({
        ...key,
        payloadEncrypted: this.context.encrypters.oidc_payloads.encrypt(Buffer.from(json), boundOf(key)),
        uidDigest: payload.uid === undefined ? undefined : digestOf(payload.uid),
        grantId: this.#model === 'Grant' ? id : payload.grantId,
        expiresInSeconds: Math.ceil(expiresIn),
      }),
    );
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    const [row] = await this.#run(findPayload(payloadKey(this.#model, id), this.#graceSeconds));
    return row && this.#decrypt(row);
  }

  async findByUid(uid: string): Promise<AdapterPayload | undefined> {
    const [row] = await this.#run(findPayloadByUid(this.#model, digestOf(uid)));
    return row && this.#decrypt(row);
  }

  /** Part of the device flow, which is disabled. */
  async findByUserCode(): Promise<undefined> {}

  async consume(id: string): Promise<void> {
    const [consumed] = await this.#run(consumePayload(payloadKey(this.#model, id), this.#graceSeconds));
    // Of two concurrent requests that find it unused, only one consumes it.
    if (!consumed) throw new errors.InvalidGrant('already used');
  }

  async destroy(id: string): Promise<void> {
    await this.#run(destroyPayload(payloadKey(this.#model, id)));
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    await this.#run(destroyPayloadsOfGrant(this.#model, grantId));
  }

  #run<Row>(statement: Statement<Row>): Promise<Row[]> {
    return this.context.db.run(directoryScopeNow(), statement);
  }

  #decrypt({ idDigest, payloadEncrypted, consumed }: PayloadRow): AdapterPayload {
    const json = this.context.encrypters.oidc_payloads.decrypt(payloadEncrypted, boundOf({ model: this.#model, idDigest }));
    const payload = JSON.parse(json.toString());
    return consumed ? { ...payload, consumed } : payload;
  }
}

/** @throws InvalidRequest, whose message the client gets */
function checkSize({ params }: AdapterPayload, json: string): void {
  const state = params?.['state'];
  if (typeof state === 'string' && state.length > MAX_STATE)
    throw new errors.InvalidRequest(`state must have at most ${MAX_STATE} characters`);
  if (json.length <= MAX_UNAUTHENTICATED_PAYLOAD) return;
  const reason = `its parameters must have at most ${MAX_UNAUTHENTICATED_PAYLOAD} characters`;
  throw new errors.InvalidRequest(`the request is too large: ${reason}`);
}

/** The id of a payload, which is authenticated with its encrypted value. */
export function boundOf({ model, idDigest }: PayloadKey): string {
  return `${model}:${idDigest.toString('base64url')}`;
}

/** Self-registered clients are payloads. Clients that operators register have a table. */
class ClientAdapter extends PayloadAdapter {
  override async find(id: string): Promise<AdapterPayload | undefined> {
    if (!isPreRegistered(id)) return super.find(id);
    const [row] = await this.context.db.read(directoryScopeNow(), findClient(id));
    return row && clientMetadata(row, this.context.encrypters.clients);
  }
}

/** A consent is oidc-provider's Grant and a row in `auth.grants`. The row decides whether access tokens are valid. */
class GrantAdapter extends PayloadAdapter {
  /** Called when the client revokes its tokens, and when a code or a refresh token is reused. */
  override async destroy(id: string): Promise<void> {
    const grant = await super.find(id);
    if (!grant) return;
    const { organization } = parseAccountId(grant.accountId!);
    await this.context.db.transact(credentialScopeNow(organization), async (query) => {
      const revoked = await revokeConsent(query, organization, id);
      if (revoked) await query(auditEntry(organization, 'sign-in', 'connection.revoke', id));
    });
  }
}

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { client, type CallOptions, type ServiceClient } from '@crs/kit/rpc/client';
import { AuthServiceService } from '@crs/proto/crs/auth/v1/auth';
import { CallsServiceService } from '@crs/proto/crs/calls/v1/calls';
import { FeedHeadsServiceService, FeedServiceService } from '@crs/proto/crs/feeds/v1/feeds';
import { WebhooksAdminServiceService } from '@crs/proto/crs/webhooks/v1/admin';
import { WEBHOOKS_CREDENTIAL } from '@crs/testing/setup';
import { call, startWebhookWorld, type WebhookWorld } from './_webhooks.ts';

const [ACME, GLOBEX] = ['acme', 'globex'];
const FEED = {
  types: 'call',
  limit: 10,
  withDetails: false,
  withoutVerbatim: false,
  withoutRedacted: false,
  withoutClean: false,
  atEnd: false,
};
const page = { ...FEED, cursor: undefined, settings: undefined, maxDetailBytes: undefined };

let webhooks: WebhookWorld;
let auth: ServiceClient<AuthServiceService>;
let feeds: ServiceClient<FeedServiceService>;
let heads: ServiceClient<FeedHeadsServiceService>;
const clients: { close(): void }[] = [];

beforeAll(async () => {
  webhooks = await startWebhookWorld([ACME, GLOBEX]);
  await webhooks.world.load([call(ACME, 'same'), call(GLOBEX, 'same'), call(GLOBEX, 'other')]);
  auth = connect(AuthServiceService, 'auth');
  feeds = connect(FeedServiceService, 'calls');
  heads = connect(FeedHeadsServiceService, 'calls');
});
afterAll(async () => {
  for (const each of clients) each.close();
  await webhooks?.close();
});

function connect<D>(definition: D, name: 'auth' | 'calls' | 'projects' | 'entities'): ServiceClient<D> {
  const address = webhooks.world.stack.addresses[name];
  const connected = client(definition, { name, address, timeoutMs: 5_000, retry: false });
  clients.push(connected);
  return connected;
}

async function tokenOf(organizationId?: string): Promise<CallOptions> {
  const audiences = ['calls', 'projects', 'entities', 'auth'];
  const credential = WEBHOOKS_CREDENTIAL;
  return { token: (await auth.authenticateProgram({ credential, organizationId, audiences })).callerTokens };
}

const failure = (work: Promise<unknown>) =>
  work.then(
    () => 'succeeded',
    ({ kind }: { kind: string }) => kind,
  );

describe('the program token', () => {
  it('is not issued for another credential or a missing organization', async () => {
    const audiences = ['calls'];
    expect(await failure(auth.authenticateProgram({ credential: 'x'.repeat(43), organizationId: ACME, audiences }))).toBe(
      'unauthenticated',
    );
    for (const organizationId of ['nobody', '*', "' or true --", ''])
      expect(await failure(tokenOf(organizationId))).toBe('not_found');
  });

  it('lists ids of changes of its organization alone, and never details', async () => {
    const listed = await feeds.listChanges(page, await tokenOf(ACME));
    expect(JSON.parse(Buffer.from(listed.changesJson).toString())).toEqual([
      { type: 'call.changed', call_id: 'same', changed_at: expect.any(String) },
    ]);
    expect(await failure(feeds.listChanges({ ...page, withDetails: true }, await tokenOf(ACME)))).toBe('permission_denied');
    expect(await failure(feeds.listChanges(page, await tokenOf()))).toBe('permission_denied');
    // A cursor of another organization.
    const { nextCursor } = await feeds.listChanges(page, await tokenOf(GLOBEX));
    expect(await failure(feeds.listChanges({ ...page, cursor: nextCursor }, await tokenOf(ACME)))).toBe('invalid_argument');
  });

  it('lists heads and versions of all organizations only without an organization', async () => {
    for (const list of [heads.listFeedHeads, auth.listSettingsVersions]) {
      expect(await failure(list({ all: true, waitMs: 0 }, await tokenOf(ACME)))).toBe('permission_denied');
      expect(await failure(list({ all: true, waitMs: 0 }, await tokenOf()))).toBe('succeeded');
    }
    const { heads: found } = await heads.listFeedHeads({ all: true, waitMs: 0 }, await tokenOf());
    expect(found.toSorted((a, b) => (a.organizationId < b.organizationId ? -1 : 1))).toEqual([
      { organizationId: ACME, position: 1 },
      { organizationId: GLOBEX, position: 2 },
    ]);
  });

  it('waits for a feed that moves', async () => {
    const { world } = webhooks;
    await world.query('delete from calls.feed_heads');
    expect(await heads.listFeedHeads({ all: false, waitMs: 0 }, await tokenOf())).toEqual({ heads: [] });
    const waiting = heads.listFeedHeads({ all: false, waitMs: 4_000 }, await tokenOf());
    await world.load([{ type: 'call', organization: ACME, id: 'moved' }]);
    expect(await waiting).toMatchObject({ heads: [{ organizationId: ACME }] });
  });

  it('records only the action of disabling a webhook', async () => {
    const record = async (action: string) => failure(auth.recordProgramAction({ action, target: 't' }, await tokenOf(ACME)));
    expect([await record('webhook.disable'), await record('key.create')]).toEqual(['succeeded', 'invalid_argument']);
  });

  it('is refused by every other RPC', async () => {
    const token = await tokenOf(ACME);
    const calls = connect(CallsServiceService, 'calls') as unknown as Record<
      string,
      (request: object, call: CallOptions) => Promise<unknown>
    >;
    for (const [method, { requestDeserialize }] of Object.entries(CallsServiceService))
      expect(await failure(calls[method]!(requestDeserialize(Buffer.alloc(0)), token)), method).toBe('permission_denied');
    for (const service of ['projects', 'entities'] as const)
      expect(await failure(connect(FeedServiceService, service).listChanges(page, token)), service).toBe('permission_denied');
  });
});

it('every admin RPC refuses keys, users, programs, and operators without the role', async () => {
  const address = webhooks.world.stack.addresses.webhooksAdmin;
  const admin = client(WebhooksAdminServiceService, { name: 'webhooks', address, timeoutMs: 5_000, retry: false });
  clients.push(admin);
  const rpcs = admin as unknown as Record<string, (request: object, call: CallOptions) => Promise<unknown>>;
  const key = await webhooks.world.createKey(ACME);
  const { callerTokens } = await auth.authenticateKey({ apiKey: key, audiences: ['webhooks'] });
  const program = await auth.authenticateProgram({
    credential: WEBHOOKS_CREDENTIAL,
    organizationId: ACME,
    audiences: ['webhooks'],
  });
  const { auth: operators, operator } = webhooks.world.operator;
  const { credential } = await operators.createOperator(
    { name: 'viewer', role: 'viewer', organizationIds: [], expiresInSeconds: 0 },
    await operator(),
  );
  const viewer = { token: (await operators.issueOperatorToken({ credential, organizationId: ACME })).operatorToken };
  for (const [method, { requestDeserialize }] of Object.entries(WebhooksAdminServiceService)) {
    const outcome = (call: CallOptions) => failure(rpcs[method]!(requestDeserialize(Buffer.alloc(0)), call));
    expect(await outcome({}), method).toBe('unauthenticated');
    expect(await outcome({ token: callerTokens }), method).toBe('permission_denied');
    expect(await outcome({ token: program.callerTokens }), method).toBe('permission_denied');
    expect(await outcome(await operator()), method).toBe('permission_denied');
    const reads = ['listWebhooks', 'listDeliveries'].includes(method);
    if (reads) expect(await outcome(viewer), method).not.toBe('permission_denied');
    else expect(await outcome(viewer), method).toBe('permission_denied');
  }
});

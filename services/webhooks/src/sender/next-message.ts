import { randomUUID } from 'node:crypto';
import type { Scope } from '@crs/kit/data/scope';
import { ServiceError } from '@crs/kit/errors';
import type { ListChangesRequest, ListChangesResponse } from '@crs/proto/crs/feeds/v1/feeds';
import type { CallOptions } from '@crs/kit/rpc/client';
import type { Context } from '../context.ts';
import { accessChangedMessage, changesMessage } from '../domain/message.ts';
import { putMessage, type Endpoint } from '../store/endpoints.ts';

/** Changes in one message. */
const MAX_CHANGES = 100;

const TYPES = 'call';
const PAGE: Omit<ListChangesRequest, 'cursor' | 'settings' | 'maxDetailBytes'> = {
  types: TYPES,
  limit: MAX_CHANGES,
  withDetails: false,
  withoutVerbatim: false,
  withoutRedacted: false,
  withoutClean: false,
  atEnd: false,
};

/** A message that is stored until it is delivered. */
export interface Pending {
  messageId: string;
  body: string;
  /** Whether to look for a further message once this one is delivered. */
  hasMore: boolean;
}

/** Returns the endpoint's next message, which is stored. Undefined: there is none. `taken`: another sender has stored one. */
export async function nextMessage(
  context: Context,
  scope: Scope,
  call: CallOptions,
  endpoint: Endpoint,
): Promise<Pending | 'taken' | undefined> {
  const { messageId, messageBody } = endpoint;
  // Changes that came since it was stored are behind it.
  if (messageId !== null && messageBody !== null) return { messageId, body: messageBody, hasMore: true };
  const made = await makeMessage(context, call, endpoint.cursor);
  if (!made) return undefined;
  const message = { messageId: `msg_${randomUUID()}`, ...made };
  const [stored] = await context.db.run(scope, putMessage(scope.organization, endpoint.webhookId, endpoint.cursor, message));
  return stored ? message : 'taken';
}

async function makeMessage({ feeds, now }: Context, call: CallOptions, cursor: string) {
  const page = await feeds.listChanges({ ...PAGE, cursor }, call).catch((error: unknown) => {
    if (isUnusableCursor(error)) return undefined;
    throw error;
  });
  if (page && !page.accessChangedAt) return pageMessage(page, now());
  const end = await feeds.listChanges({ ...PAGE, atEnd: true }, call);
  const { body } = accessChangedMessage(page?.accessChangedAt ?? now(), now());
  return { body, cursor: end.nextCursor, hasMore: false };
}

function pageMessage({ changeCount, changesJson, nextCursor, hasMore }: ListChangesResponse, now: Date) {
  if (changeCount === 0) return undefined;
  return { body: changesMessage(Buffer.from(changesJson).toString(), hasMore, now).body, cursor: nextCursor, hasMore };
}

/** Returns the cursor from which an endpoint hears of all later changes. */
export async function cursorAtEnd({ feeds }: Pick<Context, 'feeds'>, call: CallOptions): Promise<string> {
  const { nextCursor } = await feeds.listChanges({ ...PAGE, atEnd: true }, call);
  return nextCursor;
}

function isUnusableCursor(error: unknown): boolean {
  return error instanceof ServiceError && error.kind === 'invalid_argument' && error.field === 'cursor';
}

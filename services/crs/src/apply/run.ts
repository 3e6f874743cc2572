import { ServiceError } from '@crs/kit/errors';
import type { ApplyTenantResponse } from '@crs/proto/crs/auth/v1/admin';
import type { Connection } from '../connection.ts';
import { describe, Failure } from '../failure.ts';
import type { TenantEntry } from './file.ts';

/** An organization of the file, and what applying it would do. */
export interface Planned extends ApplyTenantResponse {
  entry: TenantEntry;
}

export interface ApplyMode {
  prune: boolean;
}

/** Plans all organizations first, so that an error in the last one leaves the first one unchanged. */
export async function planAll(connection: Connection, entries: readonly TenantEntry[], mode: ApplyMode): Promise<Planned[]> {
  const planned: Planned[] = [];
  for (const entry of entries) planned.push({ entry, ...(await send(connection, entry, { ...mode, plan: true, planId: '' })) });
  return planned;
}

/** Applies the plans, each in a transaction. @throws Failure that tells how many were applied */
export async function applyAll(connection: Connection, planned: readonly Planned[], mode: ApplyMode): Promise<void> {
  const changing = planned.filter(({ changes }) => changes.length > 0);
  for (const [done, { entry, planId }] of changing.entries()) {
    try {
      await send(connection, entry, { ...mode, plan: false, planId });
    } catch (error) {
      const { code, message } = describe(error);
      const said = done === 0 ? '' : ` ${done} of ${changing.length} organizations were applied before.`;
      throw new Failure(code, `${entry.id}: ${message}${said} Run it again once that is fixed.`, error);
    }
  }
}

async function send(
  { auth, operator }: Connection,
  { id, json, clientSecret, locate }: TenantEntry,
  mode: ApplyMode & { plan: boolean; planId: string },
): Promise<ApplyTenantResponse> {
  try {
    return await auth.applyTenant({ stateJson: json, oidcClientSecret: clientSecret, ...mode }, await operator(id));
  } catch (error) {
    if (!(error instanceof ServiceError) || error.field === undefined) throw error;
    const { kind, field, message } = error;
    const problem = message.startsWith(`${field}: `) ? message.slice(field.length + 2) : message;
    throw new Failure(kind, `${locate(field === 'state' ? '' : field)}: ${problem}`, error);
  }
}

import type { Database, Query } from '@crs/kit/data/database';
import type { Scope } from '@crs/kit/data/scope';
import { deleteDeliveries, eraseDeliveries } from './deliveries.ts';
import { deleteDue, eraseDue } from './due.ts';
import { deleteEndpoint, eraseEndpoints } from './endpoints.ts';

/** Erases all rows of an organization: at most 20 endpoints with 50 attempts each. */
export async function eraseAll(db: Database, scope: Scope): Promise<void> {
  await db.transact(scope, async (query) => {
    for (const erase of [eraseDue, eraseDeliveries, eraseEndpoints]) await query(erase(scope.organization));
  });
}

/** Deletes an endpoint with all that belongs to it. */
export async function deleteWhole(query: Query, organization: string, webhookId: string): Promise<void> {
  for (const remove of [deleteDue, deleteDeliveries, deleteEndpoint]) await query<object>(remove(organization, webhookId));
}

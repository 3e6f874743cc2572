import type { Query } from '@crs/kit/data/database';
import type { EraseRequest } from '@crs/proto/crs/erasures/v1/erasures';
import { heldError } from '../domain/holds.ts';
import { findHoldOfOrganization, findHoldOfProject, findHoldOfUser } from '../store/holds.ts';

/** Runs in the transaction that deletes, under the import lock. @throws ServiceError failed_precondition if a legal hold keeps the target */
export async function requireUnheld(query: Query, organization: string, target: EraseRequest['target']): Promise<void> {
  switch (target?.$case) {
    case 'organization': {
      const [hold] = await query(findHoldOfOrganization(organization));
      if (hold) throw heldError(`The organization can't be deleted: the legal hold ${hold.holdId} keeps calls of it.`);
      return;
    }
    case 'projectId': {
      const [hold] = await query(findHoldOfProject(organization, target.value));
      if (hold) throw heldError(`The project can't be deleted: the legal hold ${hold.holdId} keeps it, or calls of it.`);
      return;
    }
    case 'userId': {
      const [hold] = await query(findHoldOfUser(organization, target.value));
      if (hold)
        throw heldError(
          `The user can't be deleted: the legal hold ${hold.holdId} keeps calls that the user conducted or wrote notes on.`,
        );
      return;
    }
    case undefined:
  }
}

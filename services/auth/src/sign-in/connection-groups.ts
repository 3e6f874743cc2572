import type { ConsentRow } from '../store/consents.ts';
import { sourceOf } from './clients.ts';

/**
 * Groups a user's grants as the page of connections shows them: by client, because an assistant may connect several times. A self-registered
 * client often registers again for each connection, so those with the same name and the same redirect hosts count as one. A token of a user or
 * an operator stands alone.
 * @param grants newest first; the groups keep this order
 */
export function groupByClient(grants: readonly ConsentRow[]): [ConsentRow, ...ConsentRow[]][] {
  const groups = new Map<string, [ConsentRow, ...ConsentRow[]]>();
  for (const grant of grants) {
    const key = JSON.stringify(identityOf(grant));
    const group = groups.get(key);
    if (group) group.push(grant);
    else groups.set(key, [grant]);
  }
  return [...groups.values()];
}

function identityOf({ kind, clientId, grantId, client, redirectHosts }: ConsentRow): unknown[] {
  if (clientId === null) return [kind, grantId];
  return sourceOf(clientId).kind === 'self' ? [kind, client, redirectHosts] : [kind, clientId];
}

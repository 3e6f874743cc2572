import type { Query } from '@crs/kit/data/database';
import type { SettingChanges } from './domain/settings.ts';
import { lockDirectory } from './store/group-maps.ts';
import { findEmailOwner, setProfile, type UserRow } from './store/users.ts';

/**
 * Changes a user's e-mail or name. The user keeps everything that belongs to the id: links, roles, notes and tokens.
 * @returns the user, and the changes for the audit trail; undefined if another user has the e-mail
 */
export async function changeProfile(
  query: Query,
  organization: string,
  before: UserRow,
  after: Pick<UserRow, 'email' | 'name'>,
): Promise<{ user: UserRow; changes: SettingChanges } | undefined> {
  // Of two users who are to get the same e-mail at once, the second waits here, and then finds its owner.
  await query(lockDirectory(organization));
  const [owner] = await query(findEmailOwner(organization, after.email));
  if (owner && owner.userId !== before.userId) return undefined;
  const [user] = await query(setProfile(organization, before.userId, after));
  if (!user) return undefined;
  return { user, changes: profileChanges(before, user) };
}

function profileChanges(before: UserRow, after: UserRow): SettingChanges {
  const changes: SettingChanges = {};
  if (before.email !== after.email) changes['email'] = { from: before.email, to: after.email };
  if (before.name !== after.name) changes['name'] = { from: before.name, to: after.name };
  return changes;
}

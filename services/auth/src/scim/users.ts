import type { Query } from '@crs/kit/data/database';
import { fold, parseUuid } from '@crs/kit/text';
import { withoutNulls } from '@crs/records/export';
import type { SettingChanges } from '../domain/settings.ts';
import { endAccess } from '../store/consents.ts';
import {
  countDirectoryUsers,
  deleteInDirectory,
  disableByDirectory,
  enableByDirectory,
  findDirectoryUser,
  listDirectoryUsers,
  lockDirectoryUser,
  lockEmailHolder,
  setDirectoryProfile,
  undeleteInDirectory,
  type DirectoryProfile,
  type DirectoryUserRow,
  type UserFilter,
} from '../store/directory-users.ts';
import { followGroups } from '../store/group-maps.ts';
import { insertUser } from '../store/users.ts';
import type { ScimCall } from './context.ts';
import { parseFilter } from './filter.ts';
import { listResponse, metaOf, select, storableOf, type ListQuery, type Selection } from './list.ts';
import { parsePatch } from './patch.ts';
import { USER_SCHEMA } from './schema-urns.ts';
import { noSuchResource, ScimError } from './scim-error.ts';
import { parseUser, patchUser, type UserAttributes } from './user-attributes.ts';
import { inLockedDirectory } from './write.ts';

const FILTERED = ['userName', 'externalId', 'id'] as const;

const taken = () => new ScimError(409, 'Another user has this userName.', { scimType: 'uniqueness' });

export async function listUsers(call: ScimCall, { filter, startIndex, count, selection }: ListQuery): Promise<object> {
  const { db, scope, organization } = call;
  const wanted = filter === undefined ? {} : userFilter(filter);
  if (!wanted) return listResponse(0, startIndex, []);
  const page = { offset: startIndex - 1, limit: count };
  const [[total], rows] = await Promise.all([
    db.read(scope, countDirectoryUsers(organization, wanted)),
    count === 0 ? [] : db.read(scope, listDirectoryUsers(organization, wanted, page)),
  ]);
  return listResponse(
    total!.count,
    startIndex,
    rows.map((row) => toResource(call, row, selection)),
  );
}

/** @returns undefined if no user can match */
function userFilter(text: string): UserFilter | undefined {
  const filter: UserFilter = {};
  for (const { attribute, value } of parseFilter(text, FILTERED)) {
    const [name, wanted] = wantedValue(attribute, value);
    if (wanted === undefined || (filter[name] ?? wanted) !== wanted) return undefined;
    filter[name] = wanted;
  }
  return filter;
}

function wantedValue(attribute: string, value: string): [keyof UserFilter, string | undefined] {
  if (attribute === 'id') return ['userId', parseUuid(value)];
  const storable = storableOf(value);
  if (attribute === 'externalId') return ['externalId', storable];
  return ['emailFolded', storable === undefined ? undefined : fold(storable)];
}

export async function getUser(call: ScimCall, id: string, selection: Selection): Promise<object> {
  const userId = parseUuid(id);
  const [row] = userId ? await call.db.read(call.scope, findDirectoryUser(call.organization, userId)) : [];
  if (!row) throw noSuchResource();
  return toResource(call, row, selection);
}

/** Creates a user, or brings back one whom the directory deleted. */
export async function createUser(call: ScimCall, body: unknown, selection: Selection): Promise<{ id: string; resource: object }> {
  const wanted = parseUser(body, true);
  const { organization } = call;
  const row = await inLockedDirectory(call, async (query) => {
    const [holder] = await query(lockEmailHolder(organization, wanted.userName));
    if (holder) {
      if (!holder.isDeletedInDirectory) throw taken();
      const [before] = await query(undeleteInDirectory(organization, holder.userId));
      return change(call, query, before!, wanted, 'user.create');
    }
    const created = { email: wanted.userName, name: wanted.name, passwordHash: null };
    const [inserted] = await query(insertUser(organization, created));
    if (!inserted) throw taken();
    const [before] = await query(findDirectoryUser(organization, inserted.userId));
    return change(call, query, before!, wanted, 'user.create');
  });
  return { id: row.userId, resource: toResource(call, row, selection) };
}

export function replaceUser(call: ScimCall, id: string, body: unknown, selection: Selection): Promise<object> {
  return updateUser(call, id, selection, ({ active }) => parseUser(body, active));
}

export function modifyUser(call: ScimCall, id: string, body: unknown, selection: Selection): Promise<object> {
  const changes = parsePatch(body);
  return updateUser(call, id, selection, (before) => patchUser(before, changes));
}

async function updateUser(
  call: ScimCall,
  id: string,
  selection: Selection,
  update: (before: UserAttributes) => UserAttributes,
): Promise<object> {
  const userId = parseUuid(id);
  if (!userId) throw noSuchResource();
  const row = await inLockedDirectory(call, async (query) => {
    const [before] = await query(lockDirectoryUser(call.organization, userId));
    if (!before) throw noSuchResource();
    const wanted = update(attributesOf(before));
    const [holder] = await query(lockEmailHolder(call.organization, wanted.userName));
    if (holder && holder.userId !== userId) throw taken();
    return change(call, query, before, wanted, 'user.update');
  });
  return toResource(call, row, selection);
}

/** Disables the user, and hides them from the directory. Their calls, projects and notes stay. */
export async function deleteUser(call: ScimCall, id: string): Promise<void> {
  const userId = parseUuid(id);
  if (!userId) throw noSuchResource();
  const { organization, entry } = call;
  await inLockedDirectory(call, async (query) => {
    const [before] = await query(lockDirectoryUser(organization, userId));
    if (!before) throw noSuchResource();
    await query(disableByDirectory(organization, userId));
    await endAccess(query, organization, userId);
    for (const statement of deleteInDirectory(organization, userId)) await query(statement);
    await followGroups(query, organization, [userId]);
    await query(entry('user.disable', before.email));
    return before;
  });
}

/** Writes what differs, with its audit entries. */
async function change(
  { organization, entry }: ScimCall,
  query: Query,
  before: DirectoryUserRow,
  wanted: UserAttributes,
  action: 'user.create' | 'user.update',
): Promise<DirectoryUserRow> {
  const { userName: email, name, givenName, familyName, externalId, active } = wanted;
  const { userId } = before;
  const after = { email, name, givenName, familyName, externalId };
  const changes = changesOf(before, after);
  const isChanged = Object.keys(changes).length > 0;
  let row: DirectoryUserRow | undefined = before;
  if (isChanged) [row] = await query(setDirectoryProfile(organization, userId, after));
  if (action === 'user.create') await query(entry(action, email));
  else if (isChanged) await query(entry(action, before.email, changes));
  if (!active && before.disabledAt === null) {
    [row] = await query(disableByDirectory(organization, userId));
    await endAccess(query, organization, userId);
    await query(entry('user.disable', email));
  } else if (active && before.disabledAt !== null) {
    const [enabled] = await query(enableByDirectory(organization, userId));
    if (enabled) {
      row = enabled;
      await query(entry('user.enable', email));
    }
  }
  return row!;
}

function changesOf(before: DirectoryProfile, after: DirectoryProfile): SettingChanges {
  const changes: SettingChanges = {};
  for (const [name, setting] of AUDITED) {
    if (before[name] !== after[name]) changes[setting] = { from: before[name], to: after[name] };
  }
  return changes;
}

const AUDITED = [
  ['email', 'email'],
  ['name', 'name'],
  ['givenName', 'given_name'],
  ['familyName', 'family_name'],
  ['externalId', 'external_id'],
] as const;

function attributesOf({ email, name, givenName, familyName, externalId, disabledAt }: DirectoryUserRow): UserAttributes {
  return { userName: email, name, givenName, familyName, externalId, active: disabledAt === null };
}

function toResource(call: ScimCall, row: DirectoryUserRow, selection: Selection): Record<string, unknown> {
  const { userId, email, name, givenName, familyName, externalId, disabledAt } = row;
  const names = withoutNulls({ givenName, familyName });
  return select(
    {
      schemas: [USER_SCHEMA],
      id: userId,
      externalId,
      userName: email,
      displayName: name,
      name: Object.keys(names).length > 0 ? names : null,
      emails: [{ value: email, type: 'work', primary: true }],
      active: disabledAt === null,
      meta: metaOf('User', row, call.locationOf(`/Users/${userId}`)),
    },
    selection,
  );
}

import type { Query } from '@crs/kit/data/database';
import { fold, parseUuid } from '@crs/kit/text';
import type { SettingChanges } from '../domain/settings.ts';
import { followGroups } from '../store/group-maps.ts';
import {
  addMembers,
  countGroups,
  deleteGroup as deleteStoredGroup,
  findDirectoryUserIds,
  findGroup,
  findGroupByName,
  insertGroup,
  listGroups as listStoredGroups,
  listMembers,
  removeMembers,
  updateGroup,
  type GroupFilter,
  type GroupRow,
} from '../store/groups.ts';
import type { ScimCall } from './context.ts';
import { parseFilter } from './filter.ts';
import { parseGroup, patchGroup, type GroupAttributes, type MemberChanges } from './group-attributes.ts';
import { isSelected, listResponse, metaOf, select, storableOf, type ListQuery, type Selection } from './list.ts';
import { parsePatch } from './patch.ts';
import { GROUP_SCHEMA } from './schema-urns.ts';
import { invalidValue, noSuchResource, ScimError } from './scim-error.ts';
import { inLockedDirectory } from './write.ts';

const FILTERED = ['displayName', 'externalId', 'id', 'members.value', 'members'] as const;
/** The groups of a page have at most this many members, unless it is one group: a page may be shorter than requested. */
const MAX_MEMBERS = 10_000;
/** The most members that an audit entry names. */
const MAX_AUDITED = 100;

const taken = () => new ScimError(409, 'Another group has this displayName.', { scimType: 'uniqueness' });

export async function listGroups(call: ScimCall, { filter, startIndex, count, selection }: ListQuery): Promise<object> {
  const { db, scope, organization } = call;
  const wanted = filter === undefined ? {} : groupFilter(filter);
  if (!wanted) return listResponse(0, startIndex, []);
  const page = { offset: startIndex - 1, limit: count };
  const [[total], rows] = await Promise.all([
    db.read(scope, countGroups(organization, wanted)),
    count === 0 ? [] : db.read(scope, listStoredGroups(organization, wanted, page)),
  ]);
  const withMembers = isSelected(selection, 'members');
  const shown = withMembers ? firstWithin(rows) : rows;
  const members = withMembers
    ? await membersOf(
        call,
        shown.map(({ groupId }) => groupId),
      )
    : new Map<string, string[]>();
  const resources = shown.map((row) => toResource(call, row, members.get(row.groupId) ?? [], selection));
  return listResponse(total!.count, startIndex, resources);
}

/** Returns the first groups that together have at most {@link MAX_MEMBERS} members, at least one. */
function firstWithin<Row extends { members: number }>(rows: Row[]): Row[] {
  let sum = 0;
  const end = rows.findIndex(({ members }, index) => (sum += members) > MAX_MEMBERS && index > 0);
  return end < 0 ? rows : rows.slice(0, end);
}

/** The ids of members by the id of their group. */
async function membersOf({ db, scope, organization }: ScimCall, groupIds: string[]): Promise<Map<string, string[]>> {
  const byGroup = new Map(groupIds.map((id) => [id, [] as string[]]));
  for (const { groupId, userId } of await db.read(scope, listMembers(organization, groupIds))) byGroup.get(groupId)!.push(userId);
  return byGroup;
}

/** @returns undefined if no group can match */
function groupFilter(text: string): GroupFilter | undefined {
  const filter: GroupFilter = {};
  for (const { attribute, value } of parseFilter(text, FILTERED)) {
    const [name, wanted] = wantedValue(attribute, value);
    if (wanted === undefined) return undefined;
    // A group may have several members, but only one of everything else.
    if (name === 'memberIds') filter.memberIds = [...new Set([...(filter.memberIds ?? []), wanted])];
    else if ((filter[name] ?? wanted) !== wanted) return undefined;
    else filter[name] = wanted;
  }
  return filter;
}

function wantedValue(attribute: string, value: string): [keyof GroupFilter, string | undefined] {
  if (attribute === 'id') return ['groupId', parseUuid(value)];
  if (attribute.startsWith('members')) return ['memberIds', parseUuid(value)];
  const storable = storableOf(value);
  if (attribute === 'externalId') return ['externalId', storable];
  return ['nameFolded', storable === undefined ? undefined : fold(storable)];
}

export async function getGroup(call: ScimCall, id: string, selection: Selection): Promise<object> {
  const groupId = parseUuid(id);
  const [row] = groupId ? await call.db.read(call.scope, findGroup(call.organization, groupId)) : [];
  if (!row) throw noSuchResource();
  return withMembers(call, row, selection);
}

async function withMembers(call: ScimCall, row: GroupRow, selection: Selection): Promise<object> {
  const members = isSelected(selection, 'members') ? await membersOf(call, [row.groupId]) : undefined;
  return toResource(call, row, members?.get(row.groupId) ?? [], selection);
}

export async function createGroup(
  call: ScimCall,
  body: unknown,
  selection: Selection,
): Promise<{ id: string; resource: object }> {
  const { attributes, members } = parseGroup(body);
  const { displayName: name, externalId } = attributes;
  const row = await inLockedDirectory(call, async (query) => {
    await requireUsers(call, query, members);
    const [inserted] = await query(insertGroup(call.organization, { name, externalId }));
    if (!inserted) throw taken();
    const changed = await changeMembers(call, query, inserted.groupId, members);
    // The group's name may be mapped to roles already.
    await followGroups(query, call.organization, changed.added);
    await query(call.entry('group.create', inserted.groupId, { name: { from: null, to: name }, ...auditedMembers(changed) }));
    return inserted;
  });
  return { id: row.groupId, resource: await withMembers(call, row, selection) };
}

export async function replaceGroup(call: ScimCall, id: string, body: unknown, selection: Selection): Promise<object> {
  const wanted = parseGroup(body);
  return withMembers(call, await changeGroup(call, id, () => wanted), selection);
}

/** Has no result unless attributes are requested: a group may have very many members, which directories don't read. */
export async function modifyGroup(call: ScimCall, id: string, body: unknown, selection: Selection): Promise<object | undefined> {
  const changes = parsePatch(body);
  const row = await changeGroup(call, id, (before) => patchGroup(before, changes));
  return selection.only && withMembers(call, row, selection);
}

async function changeGroup(
  call: ScimCall,
  id: string,
  update: (before: GroupAttributes) => { attributes: GroupAttributes; members: MemberChanges },
): Promise<GroupRow> {
  const groupId = parseUuid(id);
  if (!groupId) throw noSuchResource();
  const { organization, entry } = call;
  return inLockedDirectory(call, async (query) => {
    const [before] = await query(findGroup(organization, groupId));
    if (!before) throw noSuchResource();
    const { attributes, members } = update({ displayName: before.name, externalId: before.externalId });
    const { displayName: name, externalId } = attributes;
    const [holder] = await query(findGroupByName(organization, name));
    if (holder && holder.groupId !== groupId) throw taken();
    await requireUsers(call, query, members);
    const changed = await changeMembers(call, query, groupId, members);
    const changes = { ...auditedAttributes(before, { name, externalId }), ...auditedMembers(changed) };
    if (Object.keys(changes).length === 0) return before;
    const [row] = await query(updateGroup(organization, groupId, { name, externalId }));
    const isRenamed = fold(before.name) !== fold(name);
    const others = isRenamed ? await query(listMembers(organization, [groupId])) : [];
    await followGroups(query, organization, [...changed.added, ...changed.removed, ...others.map(({ userId }) => userId)]);
    await query(entry('group.update', groupId, changes));
    return row!;
  });
}

export async function deleteGroup(call: ScimCall, id: string): Promise<void> {
  const groupId = parseUuid(id);
  if (!groupId) throw noSuchResource();
  const { organization, entry } = call;
  await inLockedDirectory(call, async (query) => {
    const [before] = await query(findGroup(organization, groupId));
    if (!before) throw noSuchResource();
    const members = (await query(listMembers(organization, [groupId]))).map(({ userId }) => userId);
    await query(deleteStoredGroup(organization, groupId));
    await followGroups(query, organization, members);
    await query(entry('group.delete', groupId, auditedAttributes(before, { name: null, externalId: null })));
  });
}

/** @throws ScimError if a new member isn't a user */
async function requireUsers({ organization }: ScimCall, query: Query, { added }: MemberChanges): Promise<void> {
  const ids = [...added];
  if (ids.length === 0) return;
  const found = new Set((await query(findDirectoryUserIds(organization, ids))).map(({ userId }) => userId));
  const missing = ids.find((id) => !found.has(id));
  if (missing !== undefined) throw invalidValue('members', `must be users, but nobody has the id ${missing}`);
}

/** The users who became members and those who stopped being members. */
interface ChangedMembers {
  added: string[];
  removed: string[];
}

async function changeMembers(
  { organization }: ScimCall,
  query: Query,
  groupId: string,
  { replaces, added, removed }: MemberChanges,
): Promise<ChangedMembers> {
  const leaving = { userIds: [...(replaces ? added : removed)].filter((id) => parseUuid(id)), allBut: replaces };
  return {
    removed: await removeMembers(query, organization, groupId, leaving),
    added: await addMembers(query, organization, groupId, [...added]),
  };
}

function auditedAttributes(
  before: Pick<GroupRow, 'name' | 'externalId'>,
  after: { name: string | null; externalId: string | null },
): SettingChanges {
  const changes: SettingChanges = {};
  if (before.name !== after.name) changes['name'] = { from: before.name, to: after.name };
  if (before.externalId !== after.externalId) changes['external_id'] = { from: before.externalId, to: after.externalId };
  return changes;
}

/** Names the first users, and counts the rest. */
function auditedMembers({ added, removed }: ChangedMembers): SettingChanges {
  const listed = (ids: string[]) =>
    ids.length <= MAX_AUDITED ? ids : [...ids.slice(0, MAX_AUDITED), `and ${ids.length - MAX_AUDITED} more`];
  return {
    ...(added.length > 0 && { members_added: { from: null, to: listed(added) } }),
    ...(removed.length > 0 && { members_removed: { from: listed(removed), to: null } }),
  };
}

function toResource(call: ScimCall, row: GroupRow, members: string[], selection: Selection): Record<string, unknown> {
  const { groupId, name, externalId } = row;
  return select(
    {
      schemas: [GROUP_SCHEMA],
      id: groupId,
      externalId,
      displayName: name,
      members: members.map((value) => ({ value, $ref: call.locationOf(`/Users/${value}`), type: 'User' })),
      meta: metaOf('Group', row, call.locationOf(`/Groups/${groupId}`)),
    },
    selection,
  );
}

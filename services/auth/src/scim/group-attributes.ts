import { parseUuid } from '@crs/kit/text';
import { objectOf, type AttributeChange } from './patch.ts';
import { invalidValue, ScimError } from './scim-error.ts';
import { textOf } from './user-attributes.ts';

export const MAX_GROUP_NAME = 256;
const MAX_EXTERNAL_ID = 256;

/** What a directory may set of a group, besides its members. */
export interface GroupAttributes {
  displayName: string;
  externalId: string | null;
}

/** Changes of a group's members, by user id. */
export interface MemberChanges {
  /** Whether all others stop being members. */
  replaces: boolean;
  added: Set<string>;
  removed: Set<string>;
}

/** Reads a whole resource: what is absent is removed. @throws ScimError */
export function parseGroup(body: unknown): { attributes: GroupAttributes; members: MemberChanges } {
  const resource = objectOf(body);
  if (!resource) throw new ScimError(400, 'The body must be a group.', { scimType: 'invalidSyntax' });
  const sent = Object.fromEntries(Object.entries(resource).map(([key, value]) => [key.toLowerCase(), value]));
  const members = { replaces: true, added: new Set(idsOf(sent['members'] ?? [])), removed: new Set<string>() };
  return {
    attributes: { displayName: nameOf(sent['displayname']), externalId: externalIdOf(sent['externalid'], null) },
    members,
  };
}

/** Applies a PATCH, except that the members' changes are only collected: a group may have very many. @throws ScimError */
export function patchGroup(
  before: GroupAttributes,
  changes: AttributeChange[],
): { attributes: GroupAttributes; members: MemberChanges } {
  const attributes = { ...before };
  const members: MemberChanges = { replaces: false, added: new Set(), removed: new Set() };
  for (const change of changes) {
    const value = change.op === 'remove' ? null : change.value;
    if (change.attribute === 'displayname') attributes.displayName = nameOf(value);
    else if (change.attribute === 'externalid') attributes.externalId = externalIdOf(value, before.externalId);
    else if (change.attribute === 'members') changeMembers(members, change);
  }
  return { attributes, members };
}

function changeMembers(members: MemberChanges, { op, filterValue, value }: AttributeChange): void {
  if (op === 'remove') {
    // Entra names the members to remove by a filter, or in the value.
    if (filterValue !== undefined) remove(members, [filterValue]);
    else if (value === undefined || value === null) replace(members, []);
    else remove(members, idsOf(value));
  } else if (op === 'replace' && filterValue === undefined) replace(members, idsOf(value));
  else for (const id of idsOf(value)) add(members, id);
}

function replace(members: MemberChanges, ids: string[]): void {
  members.replaces = true;
  members.added = new Set(ids);
  members.removed = new Set();
}

function add(members: MemberChanges, id: string): void {
  members.added.add(id);
  members.removed.delete(id);
}

/** An id that no user has is no error: somebody who was deleted here may be removed there. */
function remove(members: MemberChanges, ids: string[]): void {
  for (const id of ids.map((each) => each.toLowerCase())) {
    members.added.delete(id);
    members.removed.add(id);
  }
}

/** @param value a list of `{"value": id}`, or one of them */
function idsOf(value: unknown): string[] {
  return (Array.isArray(value) ? value : [value]).map((member: unknown) => {
    const id = objectOf(member)?.['value'];
    const uuid = typeof id === 'string' ? parseUuid(id) : undefined;
    if (uuid === undefined) throw invalidValue('members', 'must be a list of {"value": "the id of a user"}');
    return uuid;
  });
}

function nameOf(value: unknown): string {
  const name = textOf('displayName', value ?? null, MAX_GROUP_NAME, null);
  if (name === null) throw invalidValue('displayName', 'is required');
  return name;
}

function externalIdOf(value: unknown, before: string | null): string | null {
  return textOf('externalId', value, MAX_EXTERNAL_ID, before);
}

import { createScimToken, digestOf, randomBase62 } from '@crs/kit/api-key';
import type { Query } from '@crs/kit/data/database';
import { invalid, notFound } from '@crs/kit/errors';
import { parseUuid } from '@crs/kit/text';
import type { ScimGroupMap, ScimToken } from '@crs/proto/crs/auth/v1/admin';
import { noSuchOrganization } from '../../domain/not-found.ts';
import { requireText } from '../../domain/settings.ts';
import { MAX_GROUP_NAME } from '../../scim/group-attributes.ts';
import {
  deleteGroupMap,
  findGroupMembers,
  followGroups,
  insertGroupMap,
  listGroupMaps,
  lockDirectory,
  type GroupMap,
} from '../../store/group-maps.ts';
import { requireOrganization } from '../../store/organizations.ts';
import { findProjects, type Role } from '../../store/projects.ts';
import { insertScimToken, listScimTokens, revokeScimToken, type ScimTokenRow } from '../../store/scim-tokens.ts';
import { PROJECT_ROLES, ROLES } from './members.ts';
import { inTransaction, type OperatorRpcs } from './operator-rpcs.ts';

const MANAGERS = { roles: ['admin', 'manager'], token: 'one', bound: true } as const;
const READERS = { roles: ['admin', 'manager', 'viewer', 'auditor'], token: 'one', bound: true } as const;

/** The tokens of an organization's directory, and the roles that its groups give. */
export const scim = {
  createScimToken: {
    access: { action: 'scim-token.create', ...MANAGERS },
    handle: inTransaction(async (request, { organization, query, audit }) => {
      const label = requireText('label', request.label, 0, 100);
      await requireOrganization(query, organization);
      const secret = createScimToken();
      const token = { tokenId: `scim_${randomBase62(16)}`, digest: digestOf(secret), label };
      const scimToken = toScimToken((await insertScimToken(query, organization, token))!);
      await audit('scim-token.create', scimToken.tokenId);
      return { scimToken, secret };
    }),
  },
  listScimTokens: {
    access: { action: 'scim-token.list', ...READERS },
    handle: inTransaction(async (_request, { organization, query }) => {
      await requireOrganization(query, organization);
      return { scimTokens: (await query(listScimTokens(organization))).map(toScimToken) };
    }),
  },
  revokeScimToken: {
    access: { action: 'scim-token.revoke', ...MANAGERS },
    handle: inTransaction(async (request, { organization, query, audit }) => {
      const tokenId = requireText('token_id', request.tokenId, 1, 100);
      const [token] = await query(revokeScimToken(organization, tokenId));
      if (!token) throw notFound('There is no SCIM token with this id in this organization. "scim list" shows those that exist.');
      await audit('scim-token.revoke', token.tokenId);
      return { scimToken: toScimToken(token) };
    }),
  },
  mapScimGroup: {
    access: { action: 'scim-group.map', ...MANAGERS },
    handle: inTransaction(async (request, { organization, query, audit }) => {
      const map = parseMap(request.map);
      const members = await lockMembers(query, organization, map);
      const [project] = await query(findProjects(organization, [map.projectId]));
      if (!project) throw notFound('There is no project with this id in this organization.');
      await query(insertGroupMap(organization, map));
      await followGroups(query, organization, members ?? []);
      await audit(`scim-group.map.${map.role}`, `${map.projectId} ${map.group}`);
      return { members: members?.length };
    }),
  },
  unmapScimGroup: {
    access: { action: 'scim-group.unmap', ...MANAGERS },
    handle: inTransaction(async (request, { organization, query, audit }) => {
      const map = parseMap(request.map);
      const members = await lockMembers(query, organization, map);
      const [deleted] = await query(deleteGroupMap(organization, map));
      if (!deleted) throw notFound('The group is not mapped to this role of the project. "scim maps" shows what is.');
      await followGroups(query, organization, members ?? []);
      await audit(`scim-group.unmap.${map.role}`, `${map.projectId} ${map.group}`);
      return {};
    }),
  },
  listScimGroupMaps: {
    access: { action: 'scim-group.list', ...READERS },
    handle: inTransaction(async (_request, { organization, query }) => {
      await requireOrganization(query, organization);
      const maps = await query(listGroupMaps(organization));
      return {
        maps: maps.map(({ group, projectId, role, members }) => ({
          map: { group, projectId, role: PROJECT_ROLES[role as Role] },
          members: members ?? undefined,
        })),
      };
    }),
  },
} satisfies Partial<OperatorRpcs>;

function parseMap(map: ScimGroupMap | undefined): GroupMap {
  if (!map) throw invalid('map', 'is required');
  const group = requireText('group', map.group, 1, MAX_GROUP_NAME);
  const projectId = parseUuid(map.projectId);
  if (!projectId) throw invalid('project', 'must be a UUID (8-4-4-4-12 hexadecimal digits)');
  const role = ROLES[map.role];
  if (!role) throw invalid('role', 'must be lead or member');
  return { group, projectId, role };
}

/** Locks the organization's groups. @returns the ids of the group's members; undefined if there is no such group */
async function lockMembers(query: Query, organization: string, { group }: GroupMap): Promise<string[] | undefined> {
  const [locked] = await query(lockDirectory(organization));
  if (!locked) throw noSuchOrganization();
  const [found] = await query(findGroupMembers(organization, group));
  return found?.userIds;
}

function toScimToken({ revokedAt, lastUsedAt, ...token }: ScimTokenRow): ScimToken {
  return { ...token, revokedAt: revokedAt ?? undefined, lastUsedAt: lastUsedAt ?? undefined };
}

import { fold } from '@crs/kit/text';
import { compareLists } from '../domain/compare-lists.ts';
import type { TenantGroupMap } from '../domain/tenant.ts';
import {
  deleteGroupMap,
  findGroupMembers,
  followGroups,
  insertGroupMap,
  listGroupMaps,
  type GroupMap,
} from '../store/group-maps.ts';
import { findProjects, type Role } from '../store/projects.ts';
import type { Application } from './context.ts';

/** Two maps are the same if they give the same role in the same project to groups of the same name. */
export const keyOfMap = ({ group, projectId, role }: GroupMap) => JSON.stringify([fold(group), projectId, role]);

/** The organization's row must be locked: transactions that change groups or maps run one after the other. */
export async function applyGroupMaps(application: Application, desired: readonly TenantGroupMap[]): Promise<void> {
  const { organization, query, audit, prune, changes, notes } = application;
  const stored = (await query(listGroupMaps(organization))).map((map) => ({ ...map, role: map.role as Role }));
  const listed = desired.map(({ group, project_id: projectId, role }, index) => ({ group, projectId, role, index }));
  const { added, removed } = compareLists(listed, stored, keyOfMap, () => ({}));
  const ids = [...new Set(added.map(({ projectId }) => projectId))];
  const projects = new Set((await query(findProjects(organization, ids))).map(({ projectId }) => projectId));
  const touched = new Set<string>();
  const change = async (action: 'add' | 'remove', map: GroupMap) => {
    await query(action === 'add' ? insertGroupMap(organization, map) : deleteGroupMap(organization, map));
    const verb = action === 'add' ? 'map' : 'unmap';
    await audit(`scim-group.${verb}.${map.role}`, `${map.projectId} ${map.group}`);
    changes.push({ action, type: 'group_map', name: `${map.group}: ${map.role} of ${map.projectId}`, settings: {} });
    touched.add(map.group);
  };
  for (const map of added) {
    if (projects.has(map.projectId)) await change('add', map);
    else {
      const message = 'there is no project with this id yet. The map waits for it: apply the file again then';
      notes.push({ field: `group_maps[${map.index}].project_id`, message });
    }
  }
  if (prune) for (const map of removed) await change('remove', map);
  const groups = await Promise.all([...touched].map((group) => query(findGroupMembers(organization, group))));
  await followGroups(query, organization, [...new Set(groups.flatMap(([group]) => group?.userIds ?? []))]);
}

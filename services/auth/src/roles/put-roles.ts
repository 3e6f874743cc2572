import { isDeepStrictEqual } from 'node:util';
import type { Query } from '@crs/kit/data/database';
import type { Problem } from '@crs/kit/product/import-record';
import { compareCodePoints, fold } from '@crs/kit/text';
import { beingDeleted } from '../domain/not-found.ts';
import {
  findErasingProject,
  findProjectRoles,
  insertProject,
  putProjectRoles,
  type ProjectRoles,
  type Role,
} from '../store/projects.ts';
import { findUsersByEmail } from '../store/users.ts';

/** A project's creator and the roles of users in it, by e-mail. */
export interface NamedRoles {
  projectId: string;
  createdBy: string | null;
  members: { email: string; role: Role }[];
}

/** Replaces a project's creator and roles. @returns whether that changed anything, or the field whose e-mail belongs to nobody */
export async function putRoles(query: Query, organization: string, named: NamedRoles): Promise<boolean | Problem> {
  const { projectId, createdBy, members } = named;
  const [erasing] = await query(findErasingProject(organization, projectId));
  if (erasing) return beingDeleted('id');
  const emails = [...(createdBy === null ? [] : [createdBy]), ...members.map(({ email }) => email)];
  const found = await query(findUsersByEmail(organization, emails.map(fold)));
  const users = new Map(found.map(({ emailFolded, userId }) => [emailFolded, userId]));
  if (createdBy !== null && !users.has(fold(createdBy))) return nobody('created_by');
  const stranger = members.findIndex(({ email }) => !users.has(fold(email)));
  if (stranger >= 0) return nobody(`members[${stranger}].email`);
  const after: ProjectRoles = {
    projectId,
    createdBy: createdBy === null ? null : users.get(fold(createdBy))!,
    roles: members.map(({ email, role }) => ({ userId: users.get(fold(email))!, role })),
  };
  let before = await findProjectRoles(query, organization, projectId);
  if (!before) {
    const [inserted] = await query(insertProject(organization, projectId, after.createdBy));
    // Another import may have registered the project since.
    if (!inserted) before = await findProjectRoles(query, organization, projectId);
  }
  if (before && isDeepStrictEqual(sorted(before), sorted(after))) return false;
  await putProjectRoles(query, organization, after, before?.createdBy ?? null);
  return true;
}

function nobody(field: string): Problem {
  return { field, reason: 'must be the e-mail of a user of this organization' };
}

function sorted({ roles, ...project }: ProjectRoles): ProjectRoles {
  return { ...project, roles: roles.toSorted((a, b) => compareCodePoints(`${a.userId} ${a.role}`, `${b.userId} ${b.role}`)) };
}

import { isDeepStrictEqual } from 'node:util';
import type { Query } from '@crs/kit/data/database';
import type { Refusal } from '@crs/kit/product/import-record';
import { compareCodePoints, fold } from '@crs/kit/text';
import { findProjectGrant, insertProject, isErasing, putProjectGrant, type ProjectGrant, type Role } from '../store/projects.ts';
import { findUsersByEmail } from '../store/users.ts';

/** Who created a project and who has which role in it, by e-mail. */
export interface NamedGrant {
  projectId: string;
  createdBy: string | null;
  members: { email: string; role: Role }[];
}

/** Makes a project's creator and roles these. @returns whether that changed anything, or the field that names nobody */
export async function putGrant(query: Query, organization: string, named: NamedGrant): Promise<boolean | Refusal> {
  const { projectId, createdBy, members } = named;
  if (await isErasing(query, organization, projectId)) return beingDeleted('id');
  const emails = [...(createdBy === null ? [] : [createdBy]), ...members.map(({ email }) => email)];
  const users = new Map(
    (await findUsersByEmail(query, organization, emails.map(fold))).map((user) => [user.emailFolded, user.userId]),
  );
  if (createdBy !== null && !users.has(fold(createdBy))) return nobody('created_by');
  const stranger = members.findIndex(({ email }) => !users.has(fold(email)));
  if (stranger >= 0) return nobody(`members[${stranger}].email`);
  const grant: ProjectGrant = {
    projectId,
    createdBy: createdBy === null ? null : users.get(fold(createdBy))!,
    roles: members.map(({ email, role }) => ({ userId: users.get(fold(email))!, role })),
  };
  let before = await findProjectGrant(query, organization, projectId);
  if (!before && !(await insertProject(query, organization, projectId, grant.createdBy))) {
    // Another import was quicker.
    before = await findProjectGrant(query, organization, projectId);
  }
  if (before && isDeepStrictEqual(sorted(before), sorted(grant))) return false;
  await putProjectGrant(query, organization, grant, before?.createdBy ?? null);
  return true;
}

/** It is neither there nor free yet. */
export function beingDeleted(field: string): Refusal {
  return { field, reason: 'is being deleted; run its deletion again first' };
}

function nobody(field: string): Refusal {
  return { field, reason: 'must be the e-mail of a user of this organization' };
}

function sorted(grant: ProjectGrant): ProjectGrant {
  return { ...grant, roles: grant.roles.toSorted((a, b) => compareCodePoints(`${a.userId} ${a.role}`, `${b.userId} ${b.role}`)) };
}

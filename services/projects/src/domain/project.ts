import type { Person, Project } from '@crs/proto/crs/projects/v1/projects';
import type { StoredAnswer, StoredPerson } from '../store/creations.ts';

export function toProject({ createdAt, lead, members, ...answer }: StoredAnswer): Project {
  return {
    projectId: answer.projectId,
    name: answer.name,
    summary: answer.summary ?? undefined,
    status: answer.status,
    createdAt: new Date(createdAt),
    lead: lead ? toPerson(lead) : undefined,
    members: members.map(toPerson),
    billingOfficeName: answer.billingOfficeName ?? undefined,
  };
}

function toPerson({ name, email }: StoredPerson): Person {
  return { name: name ?? undefined, email };
}

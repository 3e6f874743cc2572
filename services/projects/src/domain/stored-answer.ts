import type { Person, Project } from '@crs/proto/crs/projects/v1/projects';

/** The answer to a request that created a project. It is stored under the request's idempotency key. A request with the same key gets it again. */
export interface StoredAnswer {
  projectId: string;
  name: string;
  summary: string | null;
  status: string;
  /** ISO 8601. */
  createdAt: string;
  /** Becomes null when the lead is deleted from the organization. Deleted members leave `members`. */
  lead: StoredPerson | null;
  members: StoredPerson[];
  billingOfficeName: string | null;
}

export interface StoredPerson {
  /** Not shown to API clients. The deletion of a user finds the stored answers by this id. */
  userId: string;
  name: string | null;
  email: string;
}

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

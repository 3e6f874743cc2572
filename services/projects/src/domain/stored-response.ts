import type { Person, Project } from '@crs/proto/crs/projects/v1/projects';

/** The response to a request that created a project, stored under its idempotency key and repeated to requests with the same key. */
export interface StoredResponse {
  projectId: string;
  name: string;
  summary: string | null;
  status: string;
  /** ISO 8601. */
  createdAt: string;
  /** Null after the lead was deleted from the organization. Deleted members are removed from `members`. */
  lead: StoredPerson | null;
  members: StoredPerson[];
  billingOfficeName: string | null;
}

export interface StoredPerson {
  /** Internal: the erasure of a user finds stored responses by this id. */
  userId: string;
  name: string | null;
  email: string;
}

export function toProject({ createdAt, lead, members, ...response }: StoredResponse): Project {
  return {
    projectId: response.projectId,
    name: response.name,
    summary: response.summary ?? undefined,
    status: response.status,
    createdAt: new Date(createdAt),
    lead: lead ? toPerson(lead) : undefined,
    members: members.map(toPerson),
    billingOfficeName: response.billingOfficeName ?? undefined,
  };
}

function toPerson({ name, email }: StoredPerson): Person {
  return { name: name ?? undefined, email };
}

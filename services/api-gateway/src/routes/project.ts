import type { Person, Project } from '@crs/proto/crs/projects/v1/projects';

/** The JSON of a project, as `POST /projects` and `GET /projects/{project_id}` answer it. */
export function renderProject(project: Project): Buffer {
  return Buffer.from(
    JSON.stringify({
      project_id: project.projectId,
      name: project.name ?? null,
      summary: project.summary ?? null,
      status: project.status ?? null,
      created_at: project.createdAt!.toISOString(),
      lead: project.lead ? renderPerson(project.lead) : null,
      members: project.members.map(renderPerson),
      billing_office_name: project.billingOfficeName ?? null,
    }),
  );
}

function renderPerson({ name, email }: Person) {
  return { name: name ?? null, email };
}

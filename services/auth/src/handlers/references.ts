import { callerScope } from '@crs/kit/data/scope';
import { invalid } from '@crs/kit/errors';
import { rpc, type Rpcs } from '@crs/kit/rpc/server';
import { fold, parseUuid } from '@crs/kit/text';
import type { AuthServiceService } from '@crs/proto/crs/auth/v1/auth';
import type { Context } from '../context.ts';
import { requireText } from '../domain/settings.ts';
import { organizationExists } from '../store/organizations.ts';
import { describeProjects, findProjects } from '../store/projects.ts';
import { findEmails, findUsersByEmail } from '../store/users.ts';

const MAX_REFERENCES = 10_000;
/** The most that a new project may name: a lead and a hundred members. */
const MAX_PROFILES = 101;
/** For imports, and for deletions, which managers make too. */
const REFERENCES = { action: 'import', roles: ['admin', 'manager', 'importer'], token: 'one', bound: true } as const;
const EXPORTS = { action: 'export', roles: ['admin'], token: 'one', bound: true } as const;

/** Finds the users and projects that records of other services refer to. */
export function references({ db }: Context) {
  return {
    resolveProfiles: rpc({ organization: { rights: ['write'], writeSurface: true } }, async ({ emails }, call) => {
      requireEmails(emails, MAX_PROFILES);
      const scope = callerScope(call);
      const users = await db.read(scope, findUsersByEmail(scope.organization, emails.map(fold)));
      const enabled = users.filter((user) => user.disabledAt === null);
      return { profiles: enabled.map(({ userId, email, name }) => ({ userId, email, name: name ?? '' })) };
    }),

    resolveReferences: rpc(
      { operator: REFERENCES, organization: { rights: ['ingest', 'delete'] } },
      async ({ emails, projectIds }, call) => {
        requireEmails(emails, MAX_REFERENCES);
        requireIds('project_ids', projectIds);
        const scope = callerScope(call);
        const folded = emails.map(fold);
        return db.transact(scope, async (query) => {
          const [[known], users, projects] = await Promise.all([
            query(organizationExists(scope.organization)),
            query(findUsersByEmail(scope.organization, folded)),
            query(findProjects(scope.organization, projectIds)),
          ]);
          const byEmail = new Map(users.map((user) => [user.emailFolded, user.userId]));
          const found = emails.flatMap((email, index) => {
            const userId = byEmail.get(folded[index]!);
            return userId ? [{ email, userId }] : [];
          });
          return { users: found, projectIds: projects.map((each) => each.projectId), organizationExists: known !== undefined };
        });
      },
    ),

    describeReferences: rpc(
      { operator: EXPORTS, organization: { rights: ['ingest'] } },
      async ({ userIds, projectIds }, call) => {
        requireIds('user_ids', userIds);
        requireIds('project_ids', projectIds);
        const scope = callerScope(call);
        const [users, projects] = await db.transact(scope, (query) =>
          Promise.all([query(findEmails(scope.organization, userIds)), query(describeProjects(scope.organization, projectIds))]),
        );
        return { users, projects: projects.map((project) => ({ ...project, createdBy: project.createdBy ?? undefined })) };
      },
    ),
  } satisfies Partial<Rpcs<AuthServiceService>>;
}

function requireEmails(emails: string[], most: number): void {
  if (emails.length > most) throw invalid('emails', `must be at most ${most}`);
  for (const email of emails) requireText('emails', email, 0, Infinity);
}

function requireIds(field: string, ids: string[]): void {
  if (ids.length > MAX_REFERENCES) throw invalid(field, `must be at most ${MAX_REFERENCES}`);
  if (!ids.every(parseUuid)) throw invalid(field, 'must be UUIDs');
}

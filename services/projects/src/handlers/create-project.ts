import { callerScope, workFor, type Scope } from '@crs/kit/data/scope';
import { invalid, REASONS, ServiceError } from '@crs/kit/errors';
import type { RecordContext } from '@crs/records/record-service';
import { rpc, type CallContext } from '@crs/kit/rpc/server';
import { fold } from '@crs/kit/text';
import type { Profile } from '@crs/proto/crs/auth/v1/auth';
import type { CreateProjectRequest, CreateProjectResponse } from '@crs/proto/crs/projects/v1/projects';
import { bodyHash, parseNewProject, type NewProject } from '../domain/new-project.ts';
import { toProject, type StoredResponse, type StoredPerson } from '../domain/stored-response.ts';
import { findBillingOffice } from '../store/billing-offices.ts';
import { expireLease, storeResponse, lockKey, release, reserve } from '../store/creations.ts';
import { feed } from '../store/feed.ts';
import { putProjects } from '../store/projects.ts';

/** Releasing a key has its own timeout, because the failure before it may have used up the call's. */
const CLEAN_UP_TIMEOUT_MS = 2_000;

interface People {
  lead: Profile;
  members: Profile[];
}

/**
 * Grants first, then creates. Reserves the idempotency key under a lease, with the new project's id; stores the roles for that id in auth; then stores the
 * project and the response in one transaction. If the process dies in between, a second request with the key continues with the same id.
 */
export function createProject({ db, auth, log }: RecordContext, pruneOnRead: (scope: Scope) => Promise<void>) {
  return rpc(
    { organization: { rights: ['write'], writeSurface: true } },
    async (request: CreateProjectRequest, call): Promise<CreateProjectResponse> => {
      const project = parseNewProject(request);
      const scope = callerScope(call);
      const { organization } = scope;
      await pruneOnRead(scope);
      const key = request.idempotencyKey;
      const reservation = await db.transact(scope, (query) => reserve(query, organization, key, bodyHash(project)));
      if (reservation.kind === 'completed') return { project: toProject(reservation.response), replayed: true };
      if (reservation.kind === 'other_body') throw keyReused();
      if (reservation.kind === 'in_flight') throw keyInFlight(reservation.secondsLeft);

      const { projectId, leaseId } = reservation;
      const cleanUp = (how: typeof release | typeof expireLease) => {
        const ownTime = { ...scope, ...workFor(CLEAN_UP_TIMEOUT_MS), signal: undefined };
        return db
          .run(ownTime, how(organization, leaseId, key))
          .catch((error) => log.warn({ err: error }, 'a failed creation keeps its idempotency key until its lease ends'));
      };
      let response: StoredResponse;
      try {
        const people = await findPeople(auth, project, call);
        const [office] = await db.read(scope, findBillingOffice(organization, project.billingOfficeName));
        if (!office && project.billingOfficeName !== null) {
          throw invalid('billing_office_name', 'must be one of the names that GET /billing-offices answers');
        }
        const memberUserIds = people.members.map((member) => member.userId);
        await auth.grantProject({ projectId, leadUserId: people.lead.userId, memberUserIds }, call);
        response = toStoredResponse(projectId, project, people, office?.name ?? null);
      } catch (error) {
        await cleanUp(release);
        throw error;
      }
      try {
        return await db.transact(scope, async (query) => {
          const [creation] = await query(lockKey(organization, key, projectId));
          if (!creation) throw keyInFlight(1);
          // A second request has created the project, which may have changed since, so it isn't written again.
          if (creation.response) return { project: toProject(creation.response), replayed: true };
          const { lead: _lead, members: _members, ...row } = response;
          const createdAt = new Date(row.createdAt);
          await query(putProjects(organization, [{ ...row, isArchived: false, createdAt }]));
          await query(storeResponse(organization, key, response));
          await feed.append(query, organization, [{ recordId: projectId, changedAt: createdAt, deleted: false }], new Date());
          return { project: toProject(response), replayed: false };
        });
      } catch (error) {
        await cleanUp(expireLease);
        throw error;
      }
    },
  );
}

async function findPeople(
  auth: RecordContext['auth'],
  { lead, members }: NewProject,
  call: CallContext<'organization'>,
): Promise<People> {
  const { profiles } = await auth.resolveProfiles({ emails: [lead, ...members] }, call);
  const byEmail = new Map(profiles.map((profile) => [fold(profile.email), profile]));
  const find = (field: string, email: string) => {
    const profile = byEmail.get(email);
    // The same error for an unknown e-mail, a disabled user and another organization's user.
    if (!profile) throw invalid(field, 'must be the e-mail of a user of this organization');
    return profile;
  };
  return { lead: find('lead_email', lead), members: members.map((email) => find('member_emails', email)) };
}

function toStoredResponse(
  projectId: string,
  project: NewProject,
  people: People,
  billingOfficeName: string | null,
): StoredResponse {
  const person = ({ userId, name, email }: Profile): StoredPerson => ({ userId, name: name === '' ? null : name, email });
  return {
    projectId,
    name: project.name,
    summary: project.summary,
    status: 'active',
    createdAt: new Date().toISOString(),
    lead: person(people.lead),
    members: people.members.map(person),
    billingOfficeName,
  };
}

function keyReused(): ServiceError {
  const message = 'Idempotency-Key: was used with another body in the last 24 hours; use a new key for a new project';
  return new ServiceError('failed_precondition', message, { reason: REASONS.idempotencyKeyReused, field: 'Idempotency-Key' });
}

function keyInFlight(secondsLeft: number): ServiceError {
  return new ServiceError('aborted', 'Idempotency-Key: a request with this key is being worked on; try again shortly', {
    reason: REASONS.idempotencyKeyInFlight,
    field: 'Idempotency-Key',
    retryAfterSeconds: Math.max(1, Math.ceil(secondsLeft)),
  });
}

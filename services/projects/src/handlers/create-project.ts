import { callerScope, workFor } from '@crs/kit/data/scope';
import { invalid, ServiceError } from '@crs/kit/errors';
import { rpc, type CallContext } from '@crs/kit/rpc/server';
import { fold } from '@crs/kit/text';
import type { Profile } from '@crs/proto/crs/auth/v1/auth';
import type { CreateProjectRequest, CreateProjectResponse } from '@crs/proto/crs/projects/v1/projects';
import type { RecordContext as Context } from '@crs/kit/product/record-service';
import { bodyHash, parseNewProject, type NewProject } from '../domain/new-project.ts';
import { toProject } from '../domain/project.ts';
import { requireWriteSurface } from '../domain/write-surface.ts';
import { findBillingOffice } from '../store/billing-offices.ts';
import {
  expireLease,
  keepAnswer,
  lockAnswer,
  release,
  reserve,
  type StoredAnswer,
  type StoredPerson,
} from '../store/creations.ts';
import { putProjects } from '../store/projects.ts';

/** How long giving a key up may take, after a failure that may have used the call's own time up. */
const CLEAN_UP_MS = 2_000;

interface People {
  lead: Profile;
  members: Profile[];
}

/**
 * Grant first, then create: the key is taken under a lease with the project's id, the roles are written at auth for that id, then the
 * project and the answer in one transaction. Whatever dies in between, a twin goes on with the same id.
 */
export function createProject({ db, auth, log }: Context) {
  return rpc(['organization'], async (request: CreateProjectRequest, call): Promise<CreateProjectResponse> => {
    requireWriteSurface(call);
    if (call.identity.readOnly) throw new ServiceError('permission_denied', 'The key may only read.');
    const project = parseNewProject(request);
    const scope = callerScope(call);
    const { organization } = scope;
    const key = request.idempotencyKey;
    const reservation = await db.transact(scope, (query) => reserve(query, organization, key, bodyHash(project)));
    if (reservation.kind === 'answered') return { project: toProject(reservation.answer), replayed: true };
    if (reservation.kind === 'other_body') throw keyReused();
    if (reservation.kind === 'in_flight') throw keyInFlight(reservation.secondsLeft);

    const { projectId, leaseId } = reservation;
    const giveUp = (how: typeof release | typeof expireLease) => {
      const late = { ...scope, ...workFor(CLEAN_UP_MS), signal: undefined };
      return db
        .transact(late, (query) => how(query, organization, leaseId, key))
        .catch((error) => log.warn({ err: error }, 'a lease was left to expire'));
    };
    let given: StoredAnswer;
    try {
      const people = await findPeople(auth, project, call);
      const office = await db.transact(scope, (query) => findBillingOffice(query, organization, project.billingOfficeName));
      if (!office && project.billingOfficeName !== null) {
        throw invalid('billing_office_name', 'must be one of the names that GET /billing-offices answers');
      }
      const memberUserIds = people.members.map((member) => member.userId);
      await auth.grantProject({ projectId, leadUserId: people.lead.userId, memberUserIds }, call);
      given = toAnswer(projectId, project, people, office?.name ?? null);
    } catch (error) {
      await giveUp(release);
      throw error;
    }
    try {
      return await db.transact(scope, async (query) => {
        const twins = await lockAnswer(query, organization, key, projectId);
        if (twins === undefined) throw keyInFlight(1);
        // What a twin created may have been changed since, so it is left alone.
        if (twins) return { project: toProject(twins), replayed: true };
        const { lead: _lead, members: _members, ...row } = given;
        await putProjects(query, organization, [{ ...row, isArchived: false, createdAt: new Date(row.createdAt) }]);
        await keepAnswer(query, organization, key, given);
        return { project: toProject(given), replayed: false };
      });
    } catch (error) {
      await giveUp(expireLease);
      throw error;
    }
  });
}

async function findPeople(
  auth: Context['auth'],
  { lead, members }: NewProject,
  call: CallContext<'organization'>,
): Promise<People> {
  const { profiles } = await auth.resolveProfiles({ emails: [lead, ...members] }, call);
  const byEmail = new Map(profiles.map((profile) => [fold(profile.email), profile]));
  const find = (field: string, email: string) => {
    const profile = byEmail.get(email);
    // One answer for nobody, for a disabled user and for another organization's.
    if (!profile) throw invalid(field, 'must be the e-mail of a user of this organization');
    return profile;
  };
  return { lead: find('lead_email', lead), members: members.map((email) => find('member_emails', email)) };
}

function toAnswer(projectId: string, project: NewProject, people: People, billingOfficeName: string | null): StoredAnswer {
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
  return new ServiceError('failed_precondition', message, { reason: 'IDEMPOTENCY_KEY_REUSED', field: 'Idempotency-Key' });
}

function keyInFlight(secondsLeft: number): ServiceError {
  return new ServiceError('aborted', 'Idempotency-Key: a request with this key is being worked on; try again shortly', {
    reason: 'IDEMPOTENCY_KEY_IN_FLIGHT',
    field: 'Idempotency-Key',
    retryAfterSeconds: Math.max(1, Math.ceil(secondsLeft)),
  });
}

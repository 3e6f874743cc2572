import { callerScope } from '@crs/kit/data/scope';
import { REASONS, ServiceError } from '@crs/kit/errors';
import { OAUTH_SCOPES } from '@crs/kit/rpc/scopes';
import { rpc, type Rpcs } from '@crs/kit/rpc/server';
import type { AuthServiceService } from '@crs/proto/crs/auth/v1/auth';
import { DEFAULT_ALLOWED_FIELDS } from '@crs/records/allowed-fields';
import type { Context } from '../context.ts';
import { findViewSettings } from '../store/organizations.ts';
import { visibilityVersion, visibleProjects } from '../store/projects.ts';
import { VIEW_SETTINGS_VALID_MS } from '../view-settings.ts';
import { invalidKey } from './credentials.ts';

const VIEWERS = { organization: { rights: ['read'] }, program: { name: 'webhooks', token: 'one' } } as const;

/** Tells services which projects a user may see, and which fields of calls an organization may see. */
export function visibility({ db }: Context) {
  return {
    getVisibleProjects: rpc({ user: OAUTH_SCOPES }, async (_request, call) => {
      const { organization, userId } = call.identity;
      const [row] = await db.read(callerScope(call), visibleProjects(organization, userId));
      if (!row) throw userDeleted();
      return { version: Number(row.version), projects: row.projects };
    }),

    getVisibilityVersion: rpc({ user: OAUTH_SCOPES }, async (_request, call) => {
      const { organization, userId } = call.identity;
      const [row] = await db.read(callerScope(call), visibilityVersion(organization, userId));
      if (!row) throw userDeleted();
      return { version: Number(row.version) };
    }),

    getViewSettings: rpc(VIEWERS, async (_request, call) => {
      const scope = callerScope(call);
      const [row] = await db.read(scope, findViewSettings(scope.organization));
      if (!row) throw invalidKey();
      return {
        allowedFields: row.allowedFields ?? [...DEFAULT_ALLOWED_FIELDS],
        anonymize: row.anonymizeInterviewees,
        version: row.settingsVersion,
        changedAt: row.settingsChangedAt,
        validMs: VIEW_SETTINGS_VALID_MS,
      };
    }),
  } satisfies Partial<Rpcs<AuthServiceService>>;
}

/** A caller token stays valid for seconds after its user is deleted or disabled. */
function userDeleted(): ServiceError {
  return new ServiceError('unauthenticated', 'The user is gone or disabled.', { reason: REASONS.userDeleted });
}

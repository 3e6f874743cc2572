import { ImportService } from '@crs/records/import-batch';
import { bind, type From } from '@crs/kit/rpc/server';
import { AuthAdminServiceService } from '@crs/proto/crs/auth/v1/admin';
import { AuthServiceService } from '@crs/proto/crs/auth/v1/auth';
import { ExportServiceService } from '@crs/proto/crs/exports/v1/exports';
import type { Context } from '../context.ts';
import { addMember } from './admin/add-member.ts';
import { beginErasure } from './admin/begin-erasure.ts';
import { createClient } from './admin/create-client.ts';
import { createKey } from './admin/create-key.ts';
import { createOperator } from './admin/create-operator.ts';
import { createOrganization } from './admin/create-organization.ts';
import { createToken } from './admin/create-token.ts';
import { createUser } from './admin/create-user.ts';
import { endUserSessions } from './admin/end-user-sessions.ts';
import { exportRecords } from './admin/export-records.ts';
import { finishErasure } from './admin/finish-erasure.ts';
import { getOrganization } from './admin/get-organization.ts';
import { getSecretStatus } from './admin/get-secret-status.ts';
import { imports } from './admin/import-records.ts';
import { issueOperatorToken } from './admin/issue-operator-token.ts';
import { listAudit } from './admin/list-audit.ts';
import { listClients } from './admin/list-clients.ts';
import { listKeys } from './admin/list-keys.ts';
import { listOperators } from './admin/list-operators.ts';
import { listOrganizations } from './admin/list-organizations.ts';
import { listSigningKeys } from './admin/list-signing-keys.ts';
import { listTokens } from './admin/list-tokens.ts';
import { listUsers } from './admin/list-users.ts';
import { removeClient } from './admin/remove-client.ts';
import { removeMember } from './admin/remove-member.ts';
import { resealValues } from './admin/reseal-values.ts';
import { retireSigningKey } from './admin/retire-signing-key.ts';
import { revokeKey } from './admin/revoke-key.ts';
import { revokeOperator } from './admin/revoke-operator.ts';
import { revokeToken } from './admin/revoke-token.ts';
import { rotateSigningKey } from './admin/rotate-signing-key.ts';
import { rotateTokenKey } from './admin/rotate-token-key.ts';
import { setUserDisabled } from './admin/set-user-disabled.ts';
import { setUserPassword } from './admin/set-user-password.ts';
import { unlinkUser } from './admin/unlink-user.ts';
import { updateOrganization } from './admin/update-organization.ts';
import { authenticateKey } from './authenticate-key.ts';
import { authenticateToken } from './authenticate-token.ts';
import { checkOperator } from './check-operator.ts';
import { describeReferences } from './describe-references.ts';
import { getViewSettings } from './get-view-settings.ts';
import { getVisibilityVersion } from './get-visibility-version.ts';
import { getVisibleProjects } from './get-visible-projects.ts';
import { grantProject } from './grant-project.ts';
import { listCallerKeys } from './list-caller-keys.ts';
import { listProjectPeople } from './list-project-people.ts';
import { checkProjectGrants, putProjectGrants } from './put-project-grants.ts';
import { recordAudit } from './record-audit.ts';
import { recordRefusal } from './record-refusal.ts';
import { resolveProfiles } from './resolve-profiles.ts';
import { resolveReferences } from './resolve-references.ts';

const RECORD_SERVICES = ['calls', 'projects', 'entities'] as const;

/** The programs that may call each RPC. */
const FROM: From<AuthServiceService> = {
  authenticateKey: ['api-gateway'],
  authenticateToken: ['tool-gateway'],
  listCallerKeys: RECORD_SERVICES,
  getVisibleProjects: RECORD_SERVICES,
  getVisibilityVersion: RECORD_SERVICES,
  getViewSettings: ['calls'],
  resolveProfiles: ['projects'],
  resolveReferences: RECORD_SERVICES,
  describeReferences: RECORD_SERVICES,
  grantProject: ['projects'],
  listProjectPeople: ['projects'],
  putProjectGrants: ['projects'],
  checkProjectGrants: ['projects'],
  recordAudit: RECORD_SERVICES,
  checkOperator: RECORD_SERVICES,
  recordRefusal: RECORD_SERVICES,
};

/** For gateways and services. */
export function internalServices(context: Context) {
  return [
    bind(AuthServiceService, FROM, {
      authenticateKey: authenticateKey(context),
      authenticateToken: authenticateToken(context),
      listCallerKeys: listCallerKeys(context),
      getVisibleProjects: getVisibleProjects(context),
      getVisibilityVersion: getVisibilityVersion(context),
      getViewSettings: getViewSettings(context),
      resolveProfiles: resolveProfiles(context),
      resolveReferences: resolveReferences(context),
      describeReferences: describeReferences(context),
      grantProject: grantProject(context),
      listProjectPeople: listProjectPeople(context),
      putProjectGrants: putProjectGrants(context),
      checkProjectGrants: checkProjectGrants(context),
      recordAudit: recordAudit(context),
      checkOperator: checkOperator(context),
      recordRefusal: recordRefusal(context),
    }),
  ];
}

/** For operators. */
export function adminServices(context: Context) {
  return [
    bind(AuthAdminServiceService, ['crs'], {
      issueOperatorToken: issueOperatorToken(context),
      createOrganization: createOrganization(context),
      updateOrganization: updateOrganization(context),
      getOrganization: getOrganization(context),
      listOrganizations: listOrganizations(context),
      createUser: createUser(context),
      listUsers: listUsers(context),
      setUserDisabled: setUserDisabled(context),
      setUserPassword: setUserPassword(context),
      endUserSessions: endUserSessions(context),
      unlinkUser: unlinkUser(context),
      addMember: addMember(context),
      removeMember: removeMember(context),
      createKey: createKey(context),
      listKeys: listKeys(context),
      revokeKey: revokeKey(context),
      createToken: createToken(context),
      listTokens: listTokens(context),
      revokeToken: revokeToken(context),
      rotateTokenKey: rotateTokenKey(context),
      listSigningKeys: listSigningKeys(context),
      rotateSigningKey: rotateSigningKey(context),
      retireSigningKey: retireSigningKey(context),
      getSecretStatus: getSecretStatus(context),
      resealValues: resealValues(context),
      createClient: createClient(context),
      listClients: listClients(context),
      removeClient: removeClient(context),
      beginErasure: beginErasure(context),
      finishErasure: finishErasure(context),
      createOperator: createOperator(context),
      listOperators: listOperators(context),
      revokeOperator: revokeOperator(context),
      listAudit: listAudit(context),
    }),
    bind(ImportService, ['crs'], imports(context)),
    bind(ExportServiceService, ['crs'], { exportRecords: exportRecords(context) }),
  ];
}

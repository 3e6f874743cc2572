import { bind, type From } from '@crs/kit/rpc/server';
import { AuthAdminServiceService } from '@crs/proto/crs/auth/v1/admin';
import { AuthServiceService } from '@crs/proto/crs/auth/v1/auth';
import { ExportServiceService } from '@crs/proto/crs/exports/v1/exports';
import { ImportService, RecordsService } from '@crs/records/import-batch';
import type { Context } from '../context.ts';
import { audit } from './admin/audit.ts';
import { clients } from './admin/clients.ts';
import { erasure, erasureStart } from './admin/erasure.ts';
import { exportRecords } from './admin/export-records.ts';
import { imports } from './admin/import-records.ts';
import { keys } from './admin/keys.ts';
import { members } from './admin/members.ts';
import { operatorRpcs } from './admin/operator-rpcs.ts';
import { issueOperatorToken, operators } from './admin/operators.ts';
import { organizations } from './admin/organizations.ts';
import { retention } from './admin/retention.ts';
import { scim } from './admin/scim.ts';
import { secrets } from './admin/secrets.ts';
import { signingKeys } from './admin/signing-keys.ts';
import { tenants } from './admin/tenants.ts';
import { tokens } from './admin/tokens.ts';
import { users } from './admin/users.ts';
import { operatorCalls } from './operator-calls.ts';
import { credentials } from './credentials.ts';
import { programs } from './programs.ts';
import { projects } from './projects.ts';
import { references } from './references.ts';
import { visibility } from './visibility.ts';

const RECORD_SERVICES = ['calls', 'projects', 'entities'] as const;
const OPERATED = [...RECORD_SERVICES, 'webhooks'] as const;

/** The services that may call each RPC. */
const FROM: From<AuthServiceService> = {
  authenticateKey: ['api-gateway'],
  authenticateToken: ['tool-gateway'],
  authenticateScimToken: ['tool-gateway'],
  authenticateProgram: ['webhooks'],
  listSettingsVersions: ['webhooks'],
  recordProgramAction: ['webhooks'],
  listCallerKeys: OPERATED,
  getVisibleProjects: RECORD_SERVICES,
  getVisibilityVersion: RECORD_SERVICES,
  getViewSettings: RECORD_SERVICES,
  resolveProfiles: ['projects'],
  resolveReferences: RECORD_SERVICES,
  describeReferences: RECORD_SERVICES,
  grantProject: ['projects'],
  listProjectPeople: ['projects'],
  putProjectGrants: ['projects'],
  recordAudit: OPERATED,
  checkOperator: OPERATED,
  recordRefusal: OPERATED,
  recordKeyAction: ['api-gateway', ...RECORD_SERVICES],
  getRetention: ['calls'],
  beginErasure: ['calls'],
};

/** For gateways and services. */
export function internalServices(context: Context) {
  return [
    bind(AuthServiceService, FROM, {
      ...credentials(context),
      ...visibility(context),
      ...references(context),
      ...projects(context),
      ...operatorCalls(context),
      ...programs(context),
      ...operatorRpcs(context, { ...erasureStart, ...retention }),
    }),
    bind(RecordsService, ['api-gateway'], imports(context).forKeys),
  ];
}

/** For operators. */
export function adminServices(context: Context) {
  const resources = {
    ...organizations,
    ...users,
    ...members,
    ...keys,
    ...tokens,
    ...scim,
    ...tenants,
    ...signingKeys,
    ...secrets,
    ...clients,
    ...erasure,
    ...operators,
    ...audit,
  };
  return [
    bind(AuthAdminServiceService, ['crs'], {
      issueOperatorToken: issueOperatorToken(context),
      ...operatorRpcs(context, resources),
    }),
    bind(ImportService, ['crs'], imports(context).forOperators),
    bind(ExportServiceService, ['crs'], { exportRecords: exportRecords(context) }),
  ];
}

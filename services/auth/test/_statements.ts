import { digestOf } from '@crs/kit/api-key';
import {
  ANN,
  assertionIssuerOf,
  GRANT,
  GROUP,
  GROUP_ID,
  ISSUER,
  KEY,
  PROJECT,
  SCIM_TOKEN,
  SUBJECT,
  type SendStatements,
} from '@crs/testing/tenant-rows';
import * as review from '../src/store/access-review.ts';
import * as keys from '../src/store/api-keys.ts';
import * as issuers from '../src/store/assertion-issuers.ts';
import * as audit from '../src/store/audit.ts';
import * as consents from '../src/store/consents.ts';
import { findDomainOwner, setDomains } from '../src/store/domain-directory.ts';
import * as erasures from '../src/store/erasures.ts';
import * as directory from '../src/store/directory-users.ts';
import * as groupMaps from '../src/store/group-maps.ts';
import * as groups from '../src/store/groups.ts';
import * as identities from '../src/store/identities.ts';
import * as managedConsents from '../src/store/managed-consents.ts';
import { findOidcProvider } from '../src/store/oidc-providers.ts';
import * as organizations from '../src/store/organizations.ts';
import * as projects from '../src/store/projects.ts';
import { putProjects } from '../src/store/put-roles.ts';
import * as scimTokens from '../src/store/scim-tokens.ts';
import * as encrypted from '../src/store/encrypted-values.ts';
import * as users from '../src/store/users.ts';

/** Sorts before every id: removals that continue after it begin with the first row. */
const START = '00000000-0000-0000-0000-000000000000';
const NEW = '00000000-0000-4000-8000-0000000000aa';

/**
 * Every SQL statement of the service on tables with rows of organizations. `testing/test/row-level-security.test.ts` sends them as one
 * organization, in transactions that it rolls back, and checks that none reads or changes a row of another. It also fails if a statement of the store is
 * missing here. An entry returns the statements to send. Where a function of the store sends several itself, the entry passes `query` to it.
 */
export const statements: SendStatements[] = [
  async ({ id }, query) => {
    const digest = digestOf(`a new key of ${id}`);
    const key = { keyId: 'key_new', prefix: 'crk_', label: '', rights: [], networks: [], digest, expiresInSeconds: 0 };
    await keys.insertApiKey(query, id, key);
    return [keys.lookUpKey(digest)];
  },
  ({ id }) => [keys.findLiveKey(id, KEY), keys.touchKey(id, KEY), keys.listApiKeys(id), keys.revokeApiKey(id, KEY)],
  ({ id }) => [keys.listKeyDigests(id), keys.updateApiKey(id, KEY, { label: id, networks: [], expiresAt: null })],
  ({ id, annId, bobId }) => [
    review.reviewUsers(id, '', 10),
    review.reviewRoles(id, [annId, bobId]),
    review.findGivers(id, [KEY, SCIM_TOKEN]),
  ],
  async ({ id }, query) => {
    const digest = digestOf(`a new SCIM token of ${id}`);
    await scimTokens.insertScimToken(query, id, { tokenId: 'scim_new', digest, label: '' });
    return [
      scimTokens.lookUpScimToken(digest),
      scimTokens.findLiveScimToken(id, SCIM_TOKEN),
      scimTokens.touchScimToken(id, SCIM_TOKEN),
      scimTokens.listScimTokens(id),
      scimTokens.listScimTokenDigests(id),
      scimTokens.renameScimToken(id, SCIM_TOKEN, id),
      scimTokens.revokeScimToken(id, SCIM_TOKEN),
    ];
  },
  async ({ id, annId, bobId }, query) => {
    const map = { group: GROUP, projectId: PROJECT, role: 'member' } as const;
    await query(groupMaps.lockDirectory(id));
    await query(groupMaps.insertGroupMap(id, { ...map, role: 'lead' }));
    await groupMaps.followGroups(query, id, [annId, bobId]);
    await query(groupMaps.deleteGroupMap(id, map));
    await groupMaps.followGroups(query, id, [annId, bobId]);
    return [
      groupMaps.listGroupMaps(id),
      groupMaps.findGroupMembers(id, GROUP),
      groupMaps.findGroupsOfRole(id, { userId: bobId, ...map, role: 'lead' }),
    ];
  },
  ({ id, annId, bobId }) => {
    const profile = { email: 'ann-again@crs.example', name: null, givenName: null, familyName: null, externalId: null };
    const page = { offset: 0, limit: 10 };
    return [
      directory.findDirectoryUser(id, annId),
      directory.lockDirectoryUser(id, annId),
      directory.countDirectoryUsers(id, { userId: annId }),
      directory.listDirectoryUsers(id, { emailFolded: ANN }, page),
      directory.lockEmailHolder(id, ANN),
      directory.setDirectoryProfile(id, annId, profile),
      directory.disableByDirectory(id, annId),
      directory.enableByDirectory(id, annId),
      directory.disableByDirectory(id, annId),
      directory.disableByDirectory(id, bobId),
      ...directory.deleteInDirectory(id, bobId),
      directory.undeleteInDirectory(id, bobId),
    ];
  },
  async ({ id, annId, bobId }, query) => {
    await groups.addMembers(query, id, GROUP_ID, [annId]);
    await groups.removeMembers(query, id, GROUP_ID, { userIds: [annId], allBut: false });
    await groups.removeMembers(query, id, GROUP_ID, { userIds: [annId], allBut: true });
    await groups.addMembers(query, id, GROUP_ID, [bobId]);
    return [
      groups.findGroup(id, GROUP_ID),
      groups.findGroupByName(id, GROUP),
      groups.countGroups(id, { memberIds: [bobId] }),
      groups.listGroups(id, { groupId: GROUP_ID, nameFolded: GROUP.toLowerCase() }, { offset: 0, limit: 10 }),
      groups.listMembers(id, [GROUP_ID]),
      groups.findDirectoryUserIds(id, [bobId]),
      groups.insertGroup(id, { name: 'New', externalId: null }),
      groups.updateGroup(id, GROUP_ID, { name: GROUP, externalId: null }),
      groups.deleteGroup(id, GROUP_ID),
    ];
  },
  ({ id }) => {
    const counted = { organization: id, actor: 'a', action: 'b', target: id, outcome: 'c', address: '', countedAs: Buffer.of(1) };
    return [
      audit.auditEntry(id, 'a', 'b', id),
      audit.countFirst(counted),
      audit.countAgain(counted),
      audit.listAudit([id], 10),
      audit.listAuditAfter([id], 0, 10),
      audit.deleteOldEntries(180, 1_000),
    ];
  },
  ({ id, annId }) => {
    const grant = { grantId: 'grant_new', userId: annId, client: id, scopes: [] };
    const managed = { ...grant, grantId: 'grant_managed', clientId: 'client_a', expiresAt: new Date() };
    return [
      consents.insertConsent(id, { ...grant, kind: 'operator', clientId: null, expiresInSeconds: 60 }),
      consents.findLiveConsent(id, GRANT),
      consents.admitsClient(id, 'client_a'),
      consents.touchConsent(id, GRANT),
      consents.listConsents(id),
      consents.listConsentsOfUser(id, annId),
      managedConsents.putManagedConsent(id, managed),
      managedConsents.putManagedConsent(id, { ...managed, grantId: 'grant_again' }),
      managedConsents.revokeManagedConsents(id),
    ];
  },
  async ({ id }, query) => void (await consents.revokeConsent(query, id, GRANT)),
  async ({ id, annId }, query) => void (await consents.endAccess(query, id, annId)),
  ({ id }, query) => consents.revokeOwnTokens(query, id),
  async ({ id }, query) => {
    const domain = `new.${id}.example`;
    await setDomains(query, id, [domain]);
    return [findDomainOwner(domain)];
  },
  async ({ id }, query) => {
    const issuer = `https://new.${id}.example`;
    await issuers.setIssuers(query, id, [issuer]);
    return [issuers.findIssuerOwner(issuer), issuers.lockListedIssuer(id, assertionIssuerOf(id))];
  },
  ({ id }) => [
    organizations.findRetention(id),
    erasures.findTarget(id, { kind: 'organization' }),
    erasures.findTarget(id, { kind: 'project', projectId: PROJECT }),
    erasures.findTarget(id, { kind: 'user', email: ANN }),
  ],
  async ({ id }, query) => {
    await query(erasures.markOrganization(id));
    return [erasures.removeProjects(id, START), erasures.removeUsers(id, START)];
  },
  async ({ id }, query) => {
    await query(erasures.markOrganization(id));
    await erasures.removeOrganization(query, id);
    return [organizations.insertOrganization(id, { name: id })];
  },
  async ({ id }, query) => {
    await erasures.markProject(query, id, PROJECT);
    return [projects.findErasingProjects(id, [PROJECT]), erasures.removeProject(id, PROJECT)];
  },
  async ({ id }, query) => {
    await query(erasures.markUser(id, ANN));
    await erasures.removeUser(query, id, ANN);
  },
  ({ id, annId, bobId }) => [
    identities.findLinkedUser(id, ISSUER, SUBJECT),
    identities.insertIdentity(id, { issuer: ISSUER, subject: 'new', userId: bobId }),
    identities.deleteIdentities(id, annId),
  ],
  async ({ id }, query) => {
    const [before] = await query(organizations.findOrganization(id));
    await organizations.updateOrganization(query, before!, { name: `${id} again` });
    return [
      organizations.organizationExists(id),
      organizations.setSuspended(id, true),
      organizations.setSuspended(id, false),
      organizations.findViewSettings(id),
      organizations.listSettingsVersions(new Date(0)),
      organizations.listOrganizations([id]),
      findOidcProvider(id),
    ];
  },
  async (_tenant, query) => {
    const [found] = await query(encrypted.encryptedUnder('organizations', '0', 1));
    return [
      encrypted.countEncrypted('organizations'),
      encrypted.notEncryptedUnder('organizations', 'another', 1),
      encrypted.replaceEncrypted('organizations', [{ row: found!.row, before: found!.encrypted, after: found!.encrypted }]),
    ];
  },
  ({ id, annId }) => [
    projects.insertProjects(id, [{ projectId: NEW, createdBy: annId }]),
    projects.findProjects(id, [PROJECT]),
    projects.projectPeople(id, PROJECT),
    projects.visibleProjects(id, annId),
    projects.visibilityVersion(id, annId),
    projects.describeProjects(id, [PROJECT]),
  ],
  async ({ id, annId }, query) => {
    const role = { projectId: PROJECT, userId: annId, role: 'member' } as const;
    await projects.addRole(query, id, role);
    await projects.removeRole(query, id, role);
  },
  async ({ id, annId }, query) =>
    void (await putProjects(query, id, [{ projectId: PROJECT, createdBy: null, roles: [{ userId: annId, role: 'member' }] }])),
  ({ id, annId }) => [
    users.insertUser(id, { email: 'new@crs.example', name: id, passwordHash: null }),
    users.findUser(id, ANN),
    users.listUsers(id),
    users.listPresentUsers(id),
    users.findUsersByEmail(id, [ANN]),
    users.exportUsers(id, ''),
    users.findEmails(id, [annId]),
    users.updateUser(id, annId, { email: ANN, name: `${id} again`, passwordHash: null }),
    users.findEmailOwner(id, ANN),
    users.setProfile(id, annId, { email: 'ann-again@crs.example', name: null }),
    users.setPassword(id, annId, 'a hash'),
    users.endSessions(id, annId),
    users.findLiveUser(id, annId),
    users.lockEnabledUser(id, annId),
    users.setUserDisabled(id, ANN, true),
    users.setUserDisabled(id, ANN, false),
  ],
];

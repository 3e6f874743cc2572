// The ways in which an organization's directory takes access away. For rights.test.ts.
import { ProjectRole } from '@crs/proto/crs/auth/v1/admin';
import { directoryWith, filtered, newGroup, patch, type Directory } from '@crs/testing/scim';
import { ALPHA, asOperator, authOf, BOB, CACHED, NOT_CACHED, TOOLS, type Read, type Right, type Tenant } from './_rights.ts';

/** The directory of an organization. Its group makes bob a member of the project alpha. */
interface Prepared {
  directory: Directory;
  token: string;
  tokenId: string;
  bobId: string;
  groupId: string;
}

const prepared = new Map<string, Prepared>();
const of = ({ organization }: Tenant) => prepared.get(organization)!;

const TEAM = 'Team';
const MAP = { map: { group: TEAM, projectId: ALPHA, role: ProjectRole.PROJECT_ROLE_MEMBER } };

async function prepare(tenant: Tenant): Promise<void> {
  const { scimToken, secret: token } = await authOf(tenant).createScimToken({ label: '' }, await asOperator(tenant));
  const directory = directoryWith(tenant.lane.tools, token);
  const { Resources } = (await directory('GET', filtered('Users', `userName eq "${BOB}"`))).body;
  const bobId: string = Resources[0].id;
  const group = await directory('POST', '/Groups', newGroup(TEAM, [bobId]));
  await authOf(tenant).mapScimGroup(MAP, await asOperator(tenant));
  prepared.set(tenant.organization, { directory, token, tokenId: scimToken!.tokenId, bobId, groupId: group.body.id });
}

const readUser: Read = async (tenant, { tools }, mark) => {
  const { token, bobId } = of(tenant);
  const { status, body } = await directoryWith(tools, token)('GET', `/Users/${bobId}`);
  return status !== 401 && JSON.stringify(body).includes(mark);
};

const changeUser = (method: string, body?: object) => (tenant: Tenant) =>
  of(tenant).directory(method, `/Users/${of(tenant).bobId}`, body);
const changeGroup = (method: string, body?: (bobId: string) => object) => (tenant: Tenant) =>
  of(tenant).directory(method, `/Groups/${of(tenant).groupId}`, body?.(of(tenant).bobId));

/** Bob sees the project by his group alone. */
const BY_GROUP = { ...NOT_CACHED, given: { project: { members: [] } }, prepare, reads: TOOLS };

export const DIRECTORY_RIGHTS: Right[] = [
  {
    ...CACHED,
    what: 'a user whom the directory deactivates',
    prepare,
    reads: TOOLS,
    revoke: changeUser('PATCH', patch({ op: 'Replace', path: 'active', value: 'False' })),
  },
  {
    ...CACHED,
    what: 'a user whom the directory deletes',
    prepare,
    reads: TOOLS,
    revoke: changeUser('DELETE'),
  },
  {
    ...CACHED,
    what: 'a SCIM token that is revoked',
    mark: BOB,
    prepare,
    reads: [readUser],
    revoke: async (t) => authOf(t).revokeScimToken({ tokenId: of(t).tokenId }, await asOperator(t)),
  },
  {
    ...BY_GROUP,
    what: 'a member by a group, who is removed from it',
    revoke: changeGroup('PATCH', (bobId) => patch({ op: 'remove', path: `members[value eq "${bobId}"]` })),
  },
  {
    ...BY_GROUP,
    what: 'a member by a group that gets another name',
    revoke: changeGroup('PATCH', () => patch({ op: 'replace', value: { displayName: 'Others' } })),
  },
  {
    ...BY_GROUP,
    what: 'a member by a group that is deleted',
    revoke: changeGroup('DELETE'),
  },
  {
    ...BY_GROUP,
    what: 'a member by a group that is unmapped',
    revoke: async (t) => authOf(t).unmapScimGroup(MAP, await asOperator(t)),
  },
];

// The ways in which an organization's directory takes access away. For rights.test.ts.
import { directoryWith, patch } from '@crs/testing/scim';
import { asOperator, authOf, BOB, CACHED, NOT_CACHED, TEAM_IS_MEMBER, TOOLS, type Read, type Right } from './_rights.ts';

const DIRECTORY: Read = async ({ scimToken, bobId }, { tools }, mark) => {
  const { status, body } = await directoryWith(tools, scimToken)('GET', `/Users/${bobId}`);
  return status !== 401 && JSON.stringify(body).includes(mark);
};

const BY_GROUP = { project: { members: [] }, byGroup: true } as const;

export const DIRECTORY_RIGHTS: Right[] = [
  {
    ...CACHED,
    what: 'a user whom the directory deactivates',
    reads: TOOLS,
    revoke: ({ directory, bobId }) =>
      directory('PATCH', `/Users/${bobId}`, patch({ op: 'Replace', path: 'active', value: 'False' })),
  },
  {
    ...CACHED,
    what: 'a user whom the directory deletes',
    reads: TOOLS,
    revoke: ({ directory, bobId }) => directory('DELETE', `/Users/${bobId}`),
  },
  {
    ...CACHED,
    what: 'a SCIM token that is revoked',
    mark: BOB,
    reads: [DIRECTORY],
    revoke: async (t) => authOf(t).revokeScimToken({ tokenId: t.scimTokenId }, await asOperator(t)),
  },
  {
    ...NOT_CACHED,
    what: 'a member by a group, who is removed from it',
    given: BY_GROUP,
    reads: TOOLS,
    revoke: ({ directory, groupId, bobId }) =>
      directory('PATCH', `/Groups/${groupId}`, patch({ op: 'remove', path: `members[value eq "${bobId}"]` })),
  },
  {
    ...NOT_CACHED,
    what: 'a member by a group that gets another name',
    given: BY_GROUP,
    reads: TOOLS,
    revoke: ({ directory, groupId }) =>
      directory('PATCH', `/Groups/${groupId}`, patch({ op: 'replace', value: { displayName: 'Others' } })),
  },
  {
    ...NOT_CACHED,
    what: 'a member by a group that is deleted',
    given: BY_GROUP,
    reads: TOOLS,
    revoke: ({ directory, groupId }) => directory('DELETE', `/Groups/${groupId}`),
  },
  {
    ...NOT_CACHED,
    what: 'a member by a group that is unmapped',
    given: BY_GROUP,
    reads: TOOLS,
    revoke: async (t) => authOf(t).unmapScimGroup({ map: TEAM_IS_MEMBER }, await asOperator(t)),
  },
];

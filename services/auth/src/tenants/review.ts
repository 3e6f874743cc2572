import type { Query } from '@crs/kit/data/database';
import type { Access, ReviewAccessResponse } from '@crs/proto/crs/auth/v1/admin';
import { findGivers, reviewRoles, reviewUsers, type ReviewedRole } from '../store/access-review.ts';
import { listApiKeys } from '../store/api-keys.ts';
import { listScimTokens } from '../store/scim-tokens.ts';
import { isLive } from './credentials.ts';

/** Few enough for one response, even if each user sees thousands of projects. */
const USERS_AT_ONCE = 50;

/** Lists a page of users with what they may see, and on the last page the keys and SCIM tokens. @param after the previous page's `next` */
export async function reviewAccess(query: Query, organization: string, after: string): Promise<ReviewAccessResponse> {
  const users = await query(reviewUsers(organization, after, USERS_AT_ONCE));
  const ids = users.map(({ userId }) => userId);
  const roles = Map.groupBy(await query(reviewRoles(organization, ids)), ({ userId }) => userId);
  const givers = await giversOf(query, organization, [...roles.values()].flat().map(toTarget));
  const accesses = users.flatMap(({ userId, email, lastUsedAt }) => {
    const user = { kind: 'user', who: email, lastUsedAt: lastUsedAt ?? undefined };
    const ways = roles.get(userId) ?? [];
    if (ways.length === 0) return [{ ...user, ...NO_PROJECT }];
    return ways.map((way): Access => {
      const { projectId, role, source, createdAt } = way;
      const givenBy = source === 'directory' ? way.groups.join(', ') : givers(`member.add.${role}`, toTarget(way));
      return { ...user, projectId, role, source, givenBy, since: createdAt ?? undefined };
    });
  });
  if (users.length === USERS_AT_ONCE) return { accesses, next: users.at(-1)!.emailFolded };
  return { accesses: [...accesses, ...(await reviewCredentials(query, organization))], next: '' };
}

const NO_PROJECT = { projectId: '', role: '', source: '', givenBy: '', since: undefined };

async function reviewCredentials(query: Query, organization: string): Promise<Access[]> {
  const keys = (await query(listApiKeys(organization))).filter(isLive);
  const tokens = (await query(listScimTokens(organization))).filter(({ revokedAt }) => revokedAt === null);
  const ids = [...keys.map(({ keyId }) => keyId), ...tokens.map(({ tokenId }) => tokenId)];
  const givers = await giversOf(query, organization, ids);
  const access = (
    kind: string,
    id: string,
    action: string,
    role: string,
    row: (typeof keys | typeof tokens)[number],
  ): Access => ({
    kind,
    who: row.label === '' ? id : `${id} ${row.label}`,
    projectId: '',
    role,
    source: 'operator',
    givenBy: givers(action, id),
    since: row.createdAt,
    lastUsedAt: row.lastUsedAt ?? undefined,
  });
  return [
    ...keys.map((key) => access('key', key.keyId, 'key.create', key.rights.join(' '), key)),
    ...tokens.map((token) => access('scim_token', token.tokenId, 'scim-token.create', '', token)),
  ];
}

/** How the audit trail names a role. */
function toTarget({ projectId, userId }: Pick<ReviewedRole, 'projectId' | 'userId'>): string {
  return `${projectId} ${userId}`;
}

/** @returns a function that returns the operator who did an action, or an empty text if the audit trail doesn't tell */
async function giversOf(query: Query, organization: string, targets: string[]) {
  const rows = await query(findGivers(organization, targets));
  const actors = new Map(rows.map(({ action, target, actor }) => [`${action} ${target}`, actor]));
  return (action: string, target: string) => actors.get(`${action} ${target}`) ?? '';
}

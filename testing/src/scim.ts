/** An organization's directory, for tests. */
import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { Connection } from '@crs/crs/connection';
import { ProjectRole } from '@crs/proto/crs/auth/v1/admin';
import { sendRequest } from './send-request.ts';
import { TOOLS_URL, type World } from './world.ts';

export const USER = 'urn:ietf:params:scim:schemas:core:2.0:User';
export const GROUP = 'urn:ietf:params:scim:schemas:core:2.0:Group';
const PATCH_OP = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';

export interface ScimResponse {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests access any property
  body: any;
}

/** Sends requests as an organization's directory does, through the tool gateway. */
export type Directory = (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<ScimResponse>;

/** Creates a SCIM token, and returns a client with it. @param tools `host:port` of the tool gateway */
export async function openDirectory(operator: Connection, tools: string, organization: string): Promise<Directory> {
  const { secret } = await operator.auth.createScimToken({ label: '' }, await operator.operator(organization));
  return directoryWith(tools, secret);
}

export function directoryWith(tools: string, token: string | undefined): Directory {
  return async (method, path, body, headers = {}) => {
    const response = await sendRequest(
      `http://${tools}/scim/v2${path}`,
      {
        method,
        headers: {
          host: new URL(TOOLS_URL).host,
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          ...(body !== undefined && { 'content-type': 'application/scim+json' }),
          ...headers,
        },
      },
      body === undefined || typeof body === 'string' ? body : JSON.stringify(body),
    );
    const { status } = response;
    if (response.body !== '') expect(response.headers['content-type']).toBe('application/scim+json; charset=utf-8');
    const parsed: unknown = response.body === '' ? undefined : JSON.parse(response.body);
    if (status >= 400) expect(parsed).toMatchObject({ schemas: [expect.stringMatching(/:Error$/)], status: String(status) });
    return { status, headers: response.headers, body: parsed };
  };
}

/** Stores a row of each kind that belongs to a directory: a token, a group of all users, and a role that its name gives in the project. */
export async function fillDirectory(world: World, organization: string, projectId: string): Promise<void> {
  const [groupId, operator] = [randomUUID(), await world.operator.operator(organization)];
  await world.operator.auth.createScimToken({ label: '' }, operator);
  await world.operator.auth.mapScimGroup({ map: { group: 'Team', projectId, role: ProjectRole.PROJECT_ROLE_MEMBER } }, operator);
  await world.query(`insert into auth.groups (organization, group_id, name, name_folded) values ($1, $2, 'Team', 'team')`, [
    organization,
    groupId,
  ]);
  await world.query(
    `insert into auth.group_members (organization, group_id, user_id)
      select organization, $2, user_id from auth.users where organization = $1`,
    [organization, groupId],
  );
}

/** The body of a PATCH. */
export const patch = (...operations: object[]) => ({ schemas: [PATCH_OP], Operations: operations });

export const newUser = (userName: string, more: object = {}) => ({ schemas: [USER], userName, displayName: userName, ...more });
export const newGroup = (displayName: string, ids: string[] = [], more: object = {}) => ({
  schemas: [GROUP],
  displayName,
  members: ids.map((value) => ({ value })),
  ...more,
});

export const filtered = (resource: string, filter: string) => `/${resource}?filter=${encodeURIComponent(filter)}`;

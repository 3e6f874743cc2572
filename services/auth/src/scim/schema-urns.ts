export const USER_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:User';
export const GROUP_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:Group';
export const LIST_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:ListResponse';
export const PATCH_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';
export const ERROR_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:Error';

const PREFIX = /^urn:ietf:params:scim:schemas:core:2\.0:(?:user|group):/i;

/** Removes the URN of a core schema that may stand before an attribute's name. */
export function withoutUrn(path: string): string {
  return path.replace(PREFIX, '');
}

import { isEmail, lengthOf, unstorable } from '@crs/kit/text';
import { objectOf, type AttributeChange } from './patch.ts';
import { invalidValue, ScimError } from './scim-error.ts';

/** What a directory may set of a user. */
export interface UserAttributes {
  /** The e-mail. */
  userName: string;
  /** The name that people see. It may be derived from the other two. */
  name: string | null;
  givenName: string | null;
  familyName: string | null;
  externalId: string | null;
  active: boolean;
}

const MAX_NAME = 200;
/** Two of them, with a space between, aren't longer than a name may be. */
const MAX_PART = 99;
const MAX_EXTERNAL_ID = 256;

/** Attributes as they are sent. Undefined: absent. Null: without a value. */
interface SentUser {
  userName?: unknown;
  displayName?: unknown;
  formatted?: unknown;
  givenName?: unknown;
  familyName?: unknown;
  externalId?: unknown;
  active?: unknown;
}

/** Sent attributes by their path in lower case. All others are ignored, because directories send many that nothing here needs. */
const ATTRIBUTES: Record<string, keyof SentUser> = {
  username: 'userName',
  displayname: 'displayName',
  'name.formatted': 'formatted',
  'name.givenname': 'givenName',
  'name.familyname': 'familyName',
  externalid: 'externalId',
  active: 'active',
};

/**
 * Reads a whole resource: what is absent is removed. Without `active`, a user stays as they are.
 * @throws ScimError
 */
export function parseUser(body: unknown, isActive: boolean): UserAttributes {
  const resource = objectOf(body);
  if (!resource) throw new ScimError(400, 'The body must be a user.', { scimType: 'invalidSyntax' });
  const sent: SentUser = {};
  for (const [key, value] of Object.entries(resource)) set(sent, key, value);
  if (sent.userName === undefined) throw invalidValue('userName', 'is required');
  const empty = { userName: '', name: null, givenName: null, familyName: null, externalId: null, active: isActive };
  return change(empty, sent);
}

/** Applies a PATCH. @throws ScimError */
export function patchUser(before: UserAttributes, changes: AttributeChange[]): UserAttributes {
  const sent: SentUser = {};
  for (const { op, attribute, subAttribute, value } of changes) {
    const path = subAttribute === undefined ? attribute : `${attribute}.${subAttribute}`;
    if (op !== 'remove') set(sent, path, value);
    else if (path === 'name') for (const each of ['givenName', 'familyName'] as const) sent[each] = null;
    else set(sent, path, null);
  }
  return change(before, sent);
}

function set(sent: SentUser, path: string, value: unknown): void {
  const lower = path.toLowerCase();
  const inner = lower === 'name' ? objectOf(value) : undefined;
  if (inner) for (const [key, each] of Object.entries(inner)) set(sent, `name.${key}`, each);
  else if (Object.hasOwn(ATTRIBUTES, lower)) sent[ATTRIBUTES[lower]!] = value;
}

function change(before: UserAttributes, sent: SentUser): UserAttributes {
  const givenName = textOf('name.givenName', sent.givenName, MAX_PART, before.givenName);
  const familyName = textOf('name.familyName', sent.familyName, MAX_PART, before.familyName);
  return {
    userName: sent.userName === undefined ? before.userName : emailOf(sent.userName),
    name: nameOf(before, sent, joined({ givenName, familyName })),
    givenName,
    familyName,
    externalId: textOf('externalId', sent.externalId, MAX_EXTERNAL_ID, before.externalId),
    active: sent.active === undefined || sent.active === null ? before.active : booleanOf('active', sent.active),
  };
}

/** The display name counts first, then the formatted name. A name that was derived from its two parts follows them. */
function nameOf(before: UserAttributes, { displayName, formatted }: SentUser, derived: string | null): string | null {
  const isDerived = before.name === null || before.name === joined(before);
  const former = isDerived || displayName === null ? derived : before.name;
  const named =
    textOf('displayName', displayName ?? undefined, MAX_NAME, null) ?? textOf('name.formatted', formatted, MAX_NAME, null);
  return named ?? former;
}

function joined({ givenName, familyName }: Pick<UserAttributes, 'givenName' | 'familyName'>): string | null {
  return [givenName, familyName].filter((part) => part !== null).join(' ') || null;
}

/** An empty text counts as none, because directories send it for attributes without a value. */
export function textOf(attribute: string, value: unknown, max: number, before: string | null): string | null {
  if (value === undefined) return before;
  if (value === null || value === '') return null;
  if (typeof value !== 'string') throw invalidValue(attribute, 'must be a string');
  const problem = unstorable(value);
  if (problem !== undefined) throw invalidValue(attribute, problem);
  if (value.length > 2 * max || lengthOf(value) > max) throw invalidValue(attribute, `must be at most ${max} characters long`);
  return value;
}

function emailOf(value: unknown): string {
  if (typeof value !== 'string' || !isEmail(value) || unstorable(value)) {
    throw invalidValue('userName', "must be the user's e-mail address");
  }
  return value;
}

/** Entra sends booleans as text, unless its SCIM feature flag is set. */
function booleanOf(attribute: string, value: unknown): boolean {
  const text = typeof value === 'string' ? value.toLowerCase() : value;
  if (text === true || text === 'true') return true;
  if (text === false || text === 'false') return false;
  throw invalidValue(attribute, 'must be true or false');
}

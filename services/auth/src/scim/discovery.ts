import { listResponse } from './list.ts';
import { GROUP_SCHEMA, USER_SCHEMA } from './schema-urns.ts';

/** What RFC 7643, sections 5 to 7, has a server tell of itself. */

const SCHEMA_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:Schema';
const RESOURCE_TYPE_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:ResourceType';
const CONFIG_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig';

export type LocationOf = (path: string) => string;

export function serviceProviderConfig(locationOf: LocationOf): object {
  return {
    schemas: [CONFIG_SCHEMA],
    patch: { supported: true },
    bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
    filter: { supported: true, maxResults: 200 },
    changePassword: { supported: false },
    sort: { supported: false },
    etag: { supported: false },
    authenticationSchemes: [
      {
        type: 'oauthbearertoken',
        name: 'Bearer token',
        description: 'A token of `crs scim create`.',
        specUri: 'https://www.rfc-editor.org/info/rfc6750',
        primary: true,
      },
    ],
    meta: { resourceType: 'ServiceProviderConfig', location: locationOf('/ServiceProviderConfig') },
  };
}

export function resourceTypes(locationOf: LocationOf): Record<string, object> {
  const type = (name: string, endpoint: string, schema: string) => ({
    schemas: [RESOURCE_TYPE_SCHEMA],
    id: name,
    name,
    endpoint,
    schema,
    meta: { resourceType: 'ResourceType', location: locationOf(`/ResourceTypes/${name}`) },
  });
  return { User: type('User', '/Users', USER_SCHEMA), Group: type('Group', '/Groups', GROUP_SCHEMA) };
}

interface Traits {
  type?: 'string' | 'boolean' | 'complex' | 'reference';
  multiValued?: boolean;
  required?: boolean;
  caseExact?: boolean;
  mutability?: 'readOnly' | 'readWrite' | 'immutable';
  uniqueness?: 'none' | 'server';
  canonicalValues?: string[];
  referenceTypes?: string[];
  subAttributes?: object[];
}

function attribute(name: string, description: string, traits: Traits = {}): object {
  return {
    name,
    type: 'string',
    multiValued: false,
    description,
    required: false,
    caseExact: false,
    mutability: 'readWrite',
    returned: 'default',
    uniqueness: 'none',
    ...traits,
  };
}

const READ_ONLY = { mutability: 'readOnly' } as const;

const USER_ATTRIBUTES = [
  attribute('userName', "The user's e-mail address.", { required: true, uniqueness: 'server' }),
  attribute('displayName', 'The name that people see.'),
  attribute('name', 'The parts of the name, which people see without a display name.', {
    type: 'complex',
    subAttributes: [attribute('givenName', 'The given name.'), attribute('familyName', 'The family name.')],
  }),
  attribute('active', 'Whether the user may sign in.', { type: 'boolean' }),
  attribute('emails', 'The address of `userName`.', {
    type: 'complex',
    multiValued: true,
    ...READ_ONLY,
    subAttributes: [
      attribute('value', 'The address.', READ_ONLY),
      attribute('type', 'Always `work`.', { ...READ_ONLY, canonicalValues: ['work'] }),
      attribute('primary', 'Always true.', { type: 'boolean', ...READ_ONLY }),
    ],
  }),
];

const GROUP_ATTRIBUTES = [
  attribute('displayName', "The group's name, by which `crs scim map` gives roles.", { required: true, uniqueness: 'server' }),
  attribute('members', "The group's members.", {
    type: 'complex',
    multiValued: true,
    subAttributes: [
      attribute('value', 'The id of a user.', { mutability: 'immutable', caseExact: true }),
      attribute('$ref', 'The URL of the user.', {
        type: 'reference',
        referenceTypes: ['User'],
        mutability: 'immutable',
        caseExact: true,
      }),
      attribute('type', 'Always `User`.', { mutability: 'immutable', canonicalValues: ['User'] }),
    ],
  }),
];

export function schemas(locationOf: LocationOf): Record<string, object> {
  const schema = (id: string, name: string, description: string, attributes: object[]) => ({
    schemas: [SCHEMA_SCHEMA],
    id,
    name,
    description,
    attributes,
    meta: { resourceType: 'Schema', location: locationOf(`/Schemas/${id}`) },
  });
  return {
    [USER_SCHEMA]: schema(USER_SCHEMA, 'User', 'A person of the organization', USER_ATTRIBUTES),
    [GROUP_SCHEMA]: schema(GROUP_SCHEMA, 'Group', 'A group of people', GROUP_ATTRIBUTES),
  };
}

export function listAll(resources: Record<string, object>): object {
  const all = Object.values(resources);
  return listResponse(all.length, 1, all);
}

import { describe, expect, it } from 'vitest';
import { parseGroup, patchGroup } from './group-attributes.ts';
import { parsePatch } from './patch.ts';
import { PATCH_SCHEMA } from './schema-urns.ts';
import { parseUser, patchUser, type UserAttributes } from './user-attributes.ts';

const ANN: UserAttributes = {
  userName: 'ann@x.example',
  name: 'Ann Lee',
  givenName: 'Ann',
  familyName: 'Lee',
  externalId: 'ext-1',
  active: true,
};
const [ONE, TWO, THREE] = [1, 2, 3].map((n) => `00000000-0000-4000-8000-00000000000${n}`) as [string, string, string];

const changes = (...operations: unknown[]) => parsePatch({ schemas: [PATCH_SCHEMA], Operations: operations });
const patched = (...operations: unknown[]) => patchUser(ANN, changes(...operations));

describe('a PATCH of a user', () => {
  it.each<[string, unknown, Partial<UserAttributes>]>([
    ['capitals and text as Entra sends them', { op: 'Replace', path: 'active', value: 'False' }, { active: false }],
    ['a boolean as Okta sends it', { op: 'replace', value: { active: false } }, { active: false }],
    ['names with dots', { op: 'Add', value: { 'name.familyName': 'Ray' } }, { familyName: 'Ray', name: 'Ann Ray' }],
    [
      'names with the URN of the schema',
      { op: 'replace', path: 'urn:ietf:params:scim:schemas:core:2.0:User:name.givenName', value: 'Eve' },
      { givenName: 'Eve', name: 'Eve Lee' },
    ],
    ['an object', { op: 'replace', path: 'name', value: { familyName: 'Ray' } }, { familyName: 'Ray', name: 'Ann Ray' }],
    ['a display name', { op: 'replace', path: 'DisplayName', value: 'Dr. Lee' }, { name: 'Dr. Lee' }],
    ['a formatted name', { op: 'add', path: 'name.formatted', value: 'Lee, Ann' }, { name: 'Lee, Ann' }],
    [
      'a display name besides its parts',
      { op: 'replace', value: { displayName: 'A. Ray', name: { formatted: 'no', familyName: 'Ray' } } },
      { name: 'A. Ray', familyName: 'Ray' },
    ],
    ['an e-mail', { op: 'replace', path: 'userName', value: 'Ray@x.example' }, { userName: 'Ray@x.example' }],
    ['no external id', { op: 'remove', path: 'externalId' }, { externalId: null }],
    ['an empty text', { op: 'replace', path: 'externalId', value: '' }, { externalId: null }],
    ['no display name', { op: 'remove', path: 'displayName' }, {}],
    ['no name', { op: 'remove', path: 'name' }, { givenName: null, familyName: null, name: null }],
    ['an e-mail list', { op: 'replace', path: 'emails[type eq "work"].value', value: 'other@x.example' }, {}],
    ['an extension', { op: 'add', value: { 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User': { a: 1 } } }, {}],
    ['another attribute', { op: 'add', path: 'title', value: 'Analyst' }, {}],
  ])('takes %s', (_, operation, expected) => {
    expect(patched(operation)).toEqual({ ...ANN, ...expected });
  });

  it('applies operations in their order', () => {
    const [one, other] = ['first', 'second'].map((value) => ({ op: 'replace', path: 'displayName', value }));
    expect(patched(one, other).name).toBe('second');
  });

  it('leaves a name alone that an operator gave, when its parts change', () => {
    const renamed = { ...ANN, name: 'Annie' };
    const part = changes({ op: 'replace', path: 'name.familyName', value: 'Ray' });
    expect(patchUser(renamed, part)).toEqual({ ...renamed, familyName: 'Ray' });
  });

  it.each([
    ['no operations', { schemas: [PATCH_SCHEMA], Operations: [] }, 'invalidSyntax'],
    ['no schema', { Operations: [{ op: 'add', path: 'title', value: '' }] }, 'invalidSyntax'],
    ['a text', 'x', 'invalidSyntax'],
    ['another operation', { op: 'move', path: 'title', value: '' }, 'invalidSyntax'],
    ['no value', { op: 'add', path: 'title' }, 'invalidSyntax'],
    ['a text without a path', { op: 'add', value: 'x' }, 'invalidSyntax'],
    ['a removal without a path', { op: 'remove' }, 'noTarget'],
    ['a path that none is', { op: 'add', path: 'a b', value: '' }, 'invalidPath'],
    ['a prototype', { op: 'add', value: JSON.parse('{"__proto__": {"active": false}}') as object }, 'invalidPath'],
    ['a number as path', { op: 'add', path: 7, value: '' }, 'invalidPath'],
    ['an open filter', { op: 'remove', path: 'members[value eq "' }, 'invalidPath'],
    ['another comparison', { op: 'remove', path: 'members[value co "x"]' }, 'invalidPath'],
    ['no e-mail', { op: 'replace', path: 'userName', value: 'ann' }, 'invalidValue'],
    ['a removed e-mail', { op: 'remove', path: 'userName' }, 'invalidValue'],
    ['another text as boolean', { op: 'replace', path: 'active', value: 'no' }, 'invalidValue'],
    ['a number as name', { op: 'replace', path: 'displayName', value: 7 }, 'invalidValue'],
    ['a name that is too long', { op: 'replace', path: 'displayName', value: 'x'.repeat(201) }, 'invalidValue'],
    ['a name with NUL', { op: 'replace', path: 'displayName', value: '\0' }, 'invalidValue'],
  ])('is refused with %s', (_, sent, scimType) => {
    const isBody = typeof sent === 'string' || 'Operations' in sent;
    const apply = () => patchUser(ANN, isBody ? parsePatch(sent) : changes(sent));
    expect(apply).toThrow(expect.objectContaining({ status: 400, scimType }));
  });

  it('takes time in proportion to the length of its paths', () => {
    const started = performance.now();
    for (const part of ['[', 'a.', '"\\', ' ', 'members[value eq "']) {
      const operation = { op: 'remove', path: `members[${part.repeat(200)}` };
      expect(() => changes(...Array.from({ length: 1_000 }, () => operation))).toThrow();
    }
    expect(performance.now() - started).toBeLessThan(5_000);
  });
});

describe('a whole user', () => {
  it('loses what is absent, but stays as active as before', () => {
    const empty = { givenName: null, familyName: null, externalId: null, name: null };
    expect(parseUser({ USERNAME: 'a@b' }, false)).toEqual({ ...empty, userName: 'a@b', active: false });
  });
});

describe('a PATCH of a group', () => {
  const group = { displayName: 'Team', externalId: null };
  const members = (...operations: unknown[]) => {
    const { replaces, added, removed } = patchGroup(group, changes(...operations)).members;
    return { replaces, added: [...added], removed: [...removed] };
  };
  const value = (...ids: string[]) => ids.map((id) => ({ value: id }));

  it.each([
    ['adds members', [{ op: 'Add', path: 'members', value: value(ONE, TWO) }], { added: [ONE, TWO] }],
    ['adds one member', [{ op: 'add', path: 'members', value: { value: ONE.toUpperCase() } }], { added: [ONE] }],
    ['adds members without a path', [{ op: 'add', value: { members: value(ONE) } }], { added: [ONE] }],
    ['removes a member by a filter', [{ op: 'Remove', path: `members[value eq "${ONE}"]` }], { removed: [ONE] }],
    ['removes members by their values', [{ op: 'Remove', path: 'members', value: value(ONE, TWO) }], { removed: [ONE, TWO] }],
    ['removes all', [{ op: 'remove', path: 'members' }], { replaces: true }],
    ['replaces all', [{ op: 'replace', path: 'members', value: value(TWO) }], { replaces: true, added: [TWO] }],
    [
      'applies operations in their order',
      [
        { op: 'add', path: 'members', value: value(ONE) },
        { op: 'replace', path: 'members', value: value(TWO) },
        { op: 'add', path: 'members', value: value(THREE) },
        { op: 'remove', path: `members[value eq "${TWO}"]` },
      ],
      { replaces: true, added: [THREE], removed: [TWO] },
    ],
    ['removes nobody who can be', [{ op: 'remove', path: 'members[value eq "gone"]' }], { removed: ['gone'] }],
  ])('%s', (_, operations, expected) => {
    expect(members(...operations)).toEqual({ replaces: false, added: [], removed: [], ...expected });
  });

  it('renames the group as Okta does, with the id beside the name', () => {
    const sent = changes({ op: 'replace', value: { id: ONE, displayName: 'Others' } });
    expect(patchGroup(group, sent).attributes).toEqual({ displayName: 'Others', externalId: null });
  });

  it('of a whole group replaces all', () => {
    const parsed = parseGroup({ displayName: 'Team', externalId: 'x', members: value(ONE) });
    expect(parsed.attributes).toEqual({ displayName: 'Team', externalId: 'x' });
    expect([parsed.members.replaces, [...parsed.members.added]]).toEqual([true, [ONE]]);
  });
});

// Random changes by an organization's directory, by operators and by imports, and a model of who then sees what. For scim-oracle.test.ts.
import fc from 'fast-check';

export const PEOPLE = ['ann', 'bob', 'cem'] as const;
export const TEAMS = ['Team A', 'team b'] as const;
export const PROJECTS = ['00000000-0000-4000-8000-00000000000a', '00000000-0000-4000-8000-00000000000b'] as const;
export type Person = (typeof PEOPLE)[number];
export type Team = (typeof TEAMS)[number];
export type Role = 'lead' | 'member';

/** Most changes are of one person, because many effects need several changes of the same one. */
const person = fc.constantFrom('ann', 'ann', 'ann', ...PEOPLE);
const team = fc.constantFrom(...TEAMS);
const role = fc.record({ project: fc.constantFrom(...PROJECTS), role: fc.constantFrom<Role>('lead', 'member') });
const people = fc.subarray([...PEOPLE], { minLength: 1 });

/** One change. Its `does` says who makes it. What gives access is more frequent than what takes it away. */
export const change = fc.oneof(
  { weight: 5, arbitrary: fc.record({ does: fc.constant('directory sets group' as const), team, people }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('directory adds to group' as const), team, people }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('directory removes from group' as const), team, person }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('directory swaps names' as const) }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('directory deletes group' as const), team }) },
  { weight: 8, arbitrary: fc.record({ does: fc.constant('directory sets active' as const), person, active: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('directory deletes user' as const), person }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('directory creates user' as const), person }) },
  {
    weight: 1,
    arbitrary: fc.record({ does: fc.constant('directory renames user' as const), person, suffix: fc.nat({ max: 3 }) }),
  },
  { weight: 5, arbitrary: fc.record({ does: fc.constant('operator sets disabled' as const), person, disabled: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({ does: fc.constant('operator renames user' as const), person, suffix: fc.nat({ max: 3 }) }),
  },
  { weight: 6, arbitrary: fc.record({ does: fc.constant('operator maps' as const), team, role }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('operator unmaps' as const), team, role }) },
  { weight: 5, arbitrary: fc.record({ does: fc.constant('operator adds member' as const), person, role }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('operator removes member' as const), person, role }) },
  {
    weight: 4,
    arbitrary: fc.record({
      does: fc.constant('import sets members' as const),
      project: fc.constantFrom(...PROJECTS),
      person,
      as: role,
    }),
  },
);
export type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

interface ModelUser {
  email: string;
  disabledBy: 'operator' | 'directory' | undefined;
  isDeleted: boolean;
}

const roleKey = (project: string, of: Role) => `${project} ${of}`;

/** What the service must do, written without looking at how it does it. */
export class Model {
  readonly users = new Map<Person, ModelUser>(
    PEOPLE.map((name) => [name, { email: `${name}@x.example`, disabledBy: undefined, isDeleted: false }]),
  );
  /** Members by the group's present name. */
  groups = new Map<Team, Set<Person>>();
  readonly maps = new Map<Team, Set<string>>(TEAMS.map((name) => [name, new Set()]));
  readonly records = new Map<Person, Set<string>>(PEOPLE.map((name) => [name, new Set()]));

  /** Whether SCIM finds the user. */
  isFound(name: Person): boolean {
    return !this.users.get(name)!.isDeleted;
  }

  /** The user's roles by groups, such as `<project> lead`. */
  rolesByGroups(name: Person): Set<string> {
    const roles = [...this.groups].flatMap(([group, members]) => (members.has(name) ? [...this.maps.get(group)!] : []));
    return new Set(roles);
  }

  /** What the user sees; undefined if they are disabled. */
  view(name: Person): string[] | undefined {
    if (this.users.get(name)!.disabledBy) return undefined;
    return [...new Set([...this.rolesByGroups(name), ...this.records.get(name)!])].toSorted();
  }

  apply(of: Change): void {
    switch (of.does) {
      case 'directory sets group':
        this.groups.set(of.team, new Set(of.people.filter((each) => this.isFound(each))));
        break;
      case 'directory adds to group':
        for (const each of of.people) if (this.isFound(each)) this.groups.get(of.team)?.add(each);
        break;
      case 'directory removes from group':
        this.groups.get(of.team)?.delete(of.person);
        break;
      case 'directory swaps names': {
        const other = (name: Team) => TEAMS[1 - TEAMS.indexOf(name)]!;
        this.groups = new Map([...this.groups].map(([name, members]) => [other(name), members]));
        break;
      }
      case 'directory deletes group':
        this.groups.delete(of.team);
        break;
      case 'directory sets active':
        if (this.isFound(of.person)) this.#setActive(of.person, of.active);
        break;
      case 'directory deletes user':
        this.#setActive(of.person, false);
        this.users.get(of.person)!.isDeleted = true;
        for (const members of this.groups.values()) members.delete(of.person);
        break;
      case 'directory creates user':
        if (this.isFound(of.person)) break;
        this.users.get(of.person)!.isDeleted = false;
        this.#setActive(of.person, true);
        break;
      case 'directory renames user':
        if (this.isFound(of.person)) this.#rename(of.person, of.suffix);
        break;
      case 'operator sets disabled':
        this.users.get(of.person)!.disabledBy = of.disabled ? 'operator' : undefined;
        if (!of.disabled) this.users.get(of.person)!.isDeleted = false;
        break;
      case 'operator renames user':
        this.#rename(of.person, of.suffix);
        break;
      case 'operator maps':
        this.maps.get(of.team)!.add(roleKey(of.role.project, of.role.role));
        break;
      case 'operator unmaps':
        this.maps.get(of.team)!.delete(roleKey(of.role.project, of.role.role));
        break;
      case 'operator adds member':
        this.records.get(of.person)!.add(roleKey(of.role.project, of.role.role));
        break;
      case 'operator removes member':
        this.records.get(of.person)!.delete(roleKey(of.role.project, of.role.role));
        break;
      case 'import sets members':
        for (const roles of this.records.values()) {
          for (const each of ['lead', 'member'] as const) roles.delete(roleKey(of.project, each));
        }
        this.records.get(of.person)!.add(roleKey(of.project, of.as.role));
    }
  }

  #setActive(name: Person, active: boolean): void {
    const user = this.users.get(name)!;
    if (!active) user.disabledBy ??= 'directory';
    else if (user.disabledBy === 'directory') user.disabledBy = undefined;
  }

  #rename(name: Person, suffix: number): void {
    this.users.get(name)!.email = `${name}-${suffix}@x.example`;
  }
}

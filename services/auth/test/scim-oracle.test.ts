import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { ProjectRole } from '@crs/proto/crs/auth/v1/admin';
import { newGroup, newUser, openDirectory, patch, type Directory } from '@crs/testing/scim';
import { tenant } from '@crs/testing/world';
import { Model, change, PEOPLE, PROJECTS, TEAMS, type Change, type Person, type Team } from './_directory-model.ts';
import { failureOf, organization, project, sharedAuthWorld, user, type SharedAuthWorld } from './_fixtures.ts';

/** The number of random sequences of changes. Set `CRS_WORLDS=200 CRS_TEST_SEED=7` to test more, and others. */
const RUNS = Number(process.env['CRS_WORLDS'] ?? 4);
const SEED = Number(process.env['CRS_TEST_SEED'] ?? 4);
const LENGTH = 40;

let world: SharedAuthWorld;
beforeAll(async () => {
  world = await sharedAuthWorld();
});

/** An organization to which changes are applied. */
class Subject {
  readonly organization = tenant('org');
  readonly ids = new Map<Person, string>();
  readonly #groupIds = new Map<Team, string>();
  #directory!: Directory;

  async open(): Promise<void> {
    const people = PEOPLE.map((name) => user(this.organization, `${name}@x.example`, { name }));
    const projects = PROJECTS.map((id) => project(this.organization, id));
    await world.load([organization(this.organization), ...people, ...projects]);
    this.#directory = await openDirectory(world.operator, world.stack.addresses.tools, this.organization);
    for (const { id, userName } of (await this.#directory('GET', '/Users')).body.Resources) {
      this.ids.set(userName.split('@')[0], id);
    }
  }

  /** @param before the model before the change */
  async apply(of: Change, before: Model): Promise<void> {
    const { auth } = world.operator;
    const operator = await world.operate(this.organization);
    const email = 'person' in of ? before.users.get(of.person)!.email : '';
    const id = 'person' in of ? this.ids.get(of.person)! : '';
    const found = 'person' in of && before.isFound(of.person);
    const known = 'people' in of ? of.people.filter((each) => before.isFound(each)).map((each) => this.ids.get(each)!) : [];
    const groupId = 'team' in of ? this.#groupIds.get(of.team) : undefined;
    const role = 'role' in of ? { projectId: of.role.project, role: roleOf(of.role.role) } : undefined;
    switch (of.does) {
      case 'directory sets group': {
        const [method, path] = groupId === undefined ? ['POST', '/Groups'] : ['PUT', `/Groups/${groupId}`];
        this.#groupIds.set(of.team, (await this.#send(method, path, newGroup(of.team, known), true)).body.id);
        break;
      }
      case 'directory adds to group':
        if (groupId) {
          const value = known.map((each) => ({ value: each }));
          await this.#send('PATCH', `/Groups/${groupId}`, patch({ op: 'Add', path: 'members', value }), true);
        }
        break;
      case 'directory removes from group':
        if (groupId)
          await this.#send('PATCH', `/Groups/${groupId}`, patch({ op: 'remove', path: `members[value eq "${id}"]` }), true);
        break;
      case 'directory swaps names':
        await this.#swapNames();
        break;
      case 'directory deletes group':
        if (groupId) await this.#send('DELETE', `/Groups/${groupId}`, undefined, true);
        this.#groupIds.delete(of.team);
        break;
      case 'directory sets active':
        await this.#send('PATCH', `/Users/${id}`, patch({ op: 'replace', value: { active: of.active } }), found);
        break;
      case 'directory deletes user':
        await this.#send('DELETE', `/Users/${id}`, undefined, found);
        break;
      case 'directory creates user': {
        const { body } = await this.#send('POST', '/Users', newUser(email), !found);
        if (!found) expect(body.id).toBe(id);
        break;
      }
      case 'directory renames user': {
        const value = `${of.person}-${of.suffix}@x.example`;
        await this.#send('PATCH', `/Users/${id}`, patch({ op: 'replace', path: 'userName', value }), found);
        break;
      }
      case 'operator sets disabled':
        await auth.setUserDisabled({ email, disabled: of.disabled }, operator);
        break;
      case 'operator renames user':
        await auth.updateUser({ email, newEmail: `${of.person}-${of.suffix}@x.example` }, operator);
        break;
      case 'operator maps':
        await auth.mapScimGroup({ map: { group: of.team, ...role! } }, operator);
        break;
      case 'operator unmaps':
        await failureOf(auth.unmapScimGroup({ map: { group: of.team.toUpperCase(), ...role! } }, operator));
        break;
      case 'operator adds member':
        await auth.addMember({ email, ...role! }, operator);
        break;
      case 'operator removes member':
        await this.#removeMember(of, before, email);
        break;
      case 'import sets members':
        await world.load([project(this.organization, of.project, { members: [{ email, role: of.as.role }] })]);
    }
  }

  async #send(method: string, path: string, body: unknown, succeeds: boolean) {
    const response = await this.#directory(method, path, body);
    expect(response.status < 300, `${method} ${path} ${response.status}`).toBe(succeeds);
    return response;
  }

  async #swapNames(): Promise<void> {
    const rename = (id: string, displayName: string) =>
      this.#send('PATCH', `/Groups/${id}`, patch({ op: 'replace', path: 'displayName', value: displayName }), true);
    const groups = [...this.#groupIds];
    for (const [, id] of groups) await rename(id, `swapped ${id}`);
    this.#groupIds.clear();
    for (const [name, id] of groups) {
      const other = TEAMS[1 - TEAMS.indexOf(name)]!;
      await rename(id, other);
      this.#groupIds.set(other, id);
    }
  }

  /** A role by groups alone can't be removed. */
  async #removeMember(of: Change & { does: 'operator removes member' }, before: Model, email: string): Promise<void> {
    const role = `${of.role.project} ${of.role.role}`;
    const request = { email, projectId: of.role.project, role: roleOf(of.role.role) };
    const failure = await failureOf(world.operator.auth.removeMember(request, await world.operate(this.organization)));
    const [byRecords, byGroups] = [before.records.get(of.person)!.has(role), before.rolesByGroups(of.person).has(role)];
    expect(failure?.kind).toBe(byRecords ? undefined : byGroups ? 'failed_precondition' : 'not_found');
  }

  /** What a user sees, with the version of that set; undefined if the user is disabled. */
  async view(name: Person): Promise<{ roles: string[]; version: number } | undefined> {
    const scopes = ['calls:read', 'projects:read', 'entities:read'];
    const identity = { kind: 'user', organization: this.organization, userId: this.ids.get(name)!, scopes } as const;
    const seen = await world.auth
      .getVisibleProjects({}, { token: await world.signer.sign(identity, 600) })
      .catch(() => undefined);
    if (!seen) return undefined;
    const roles = seen.projects.flatMap(({ projectId, lead, member }) => [
      ...(lead ? [`${projectId} lead`] : []),
      ...(member ? [`${projectId} member`] : []),
    ]);
    return { roles: roles.toSorted(), version: seen.version };
  }
}

function roleOf(role: 'lead' | 'member') {
  return role === 'lead' ? ProjectRole.PROJECT_ROLE_LEAD : ProjectRole.PROJECT_ROLE_MEMBER;
}

describe(`what users see, after each of ${LENGTH} random changes by directory, operators and imports (seed ${SEED})`, () => {
  it(
    'matches the model, and has another version whenever it changes',
    async () => {
      const seen = { both: 0, byGroups: 0, disabled: 0 };
      await fc.assert(
        fc.asyncProperty(fc.array(change, { minLength: LENGTH, maxLength: LENGTH }), async (changes) => {
          // Two organizations with the same people, groups and projects. Only the first one changes at first.
          const [subject, other] = [new Subject(), new Subject()];
          await Promise.all([subject.open(), other.open()]);
          const model = new Model();
          let before = await Promise.all(PEOPLE.map((name) => subject.view(name)));
          for (const each of changes) {
            await subject.apply(each, model);
            model.apply(each);
            const now = await Promise.all(PEOPLE.map((name) => subject.view(name)));
            expect(
              now.map((view) => view?.roles),
              JSON.stringify(each),
            ).toEqual(PEOPLE.map((name) => model.view(name)));
            for (const [n, view] of now.entries()) {
              const earlier = before[n];
              if (!view || !earlier) continue;
              if (String(view.roles) !== String(earlier.roles)) expect(view.version).toBeGreaterThan(earlier.version);
            }
            before = now;
            count(model, seen);
          }
          expect(await Promise.all(PEOPLE.map((name) => other.view(name)))).toMatchObject(PEOPLE.map(() => ({ roles: [] })));
        }),
        { numRuns: RUNS, seed: SEED, endOnFailure: true },
      );
      // Otherwise the changes would test little.
      if (process.env['CRS_TEST_SEED'] !== undefined) return;
      for (const times of Object.values(seen)) expect(times).toBeGreaterThan(RUNS);
    },
    RUNS * 60_000,
  );
});

function count(model: Model, seen: { both: number; byGroups: number; disabled: number }): void {
  for (const name of PEOPLE) {
    const byGroups = model.rolesByGroups(name);
    const records = model.records.get(name)!;
    if (model.users.get(name)!.disabledBy) seen.disabled++;
    if (byGroups.size > 0) seen.byGroups++;
    if ([...byGroups].some((role) => records.has(role))) seen.both++;
  }
}

import { beforeAll, expect, it } from 'vitest';
import { tenant } from '@crs/testing/world';
import { ageSession } from './_age-session.ts';
import { ANN, organization, sharedAuthWorld, user, type SharedAuthWorld } from './_fixtures.ts';
import { authorizePath, Browser, connectAssistant, pkce, register } from './_sign-in.ts';

const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];
const PERSON = { organization: ACME, email: ANN, password: 'correct horse battery' };

let world: SharedAuthWorld;
beforeAll(async () => {
  const twins = [ACME, GLOBEX].flatMap((id) => [organization(id), user(id, ANN, { password: PERSON.password })]);
  world = await sharedAuthWorld(twins);
});

it('a browser stays signed in for 12 hours, however much the session is used', async () => {
  const b = new Browser(world.stack.addresses.authHttp);
  await connectAssistant(b, PERSON);
  const client = await register(b);
  const path = authorizePath(client.body.client_id as string, pkce().challenge);
  await ageSession(world, b, 11 * 3_600);
  expect((await b.open(path)).page.text).toContain('value="allow"');
  await ageSession(world, b, 2 * 3_600);
  expect((await b.open(path)).page.text).toContain('name="email"');
});

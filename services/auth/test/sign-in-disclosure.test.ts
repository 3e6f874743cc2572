import { beforeAll, expect, it } from 'vitest';
import { tenant } from '@crs/testing/world';
import { ANN, BOB, organization, sharedAuthWorld, user, type SharedAuthWorld } from './_fixtures.ts';
import { actionOf, authorizePath, Browser, hiddenFields, pkce, register } from './_sign-in.ts';

const PASSWORD = 'correct horse battery';
const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];
const PERSON = { organization: ACME, email: ANN, password: PASSWORD };

let world: SharedAuthWorld;
beforeAll(async () => {
  world = await sharedAuthWorld([
    organization(ACME),
    user(ACME, ANN, { password: PASSWORD }),
    user(ACME, BOB),
    organization(GLOBEX),
    user(GLOBEX, ANN, { password: 'plum tart on a late tram' }),
    // Bob has no password at ACME: this one must not work there.
    user(GLOBEX, BOB, { password: PASSWORD }),
  ]);
});

const browser = () => new Browser(world.stack.addresses.authHttp);
const form = async (b: Browser) => {
  const { body } = await register(b);
  return (await b.open(authorizePath(body.client_id, pkce().challenge, { organization: ACME }))).page;
};
/** The text of a page without its random values and e-mails. */
const fixed = (text: string) => text.replace(/\/sign-in\/[\w-]+|name="csrf" value="[^"]+"|value="[^"]*@[^"]*"/g, '');

it('a refused sign-in returns the same page, whether the password, the e-mail or the organization is wrong', async () => {
  const b = browser();
  const page = await form(b);
  const refusal = async (wrong: object) => {
    const { status, text } = await b.send(actionOf(page), { form: { ...hiddenFields(page), ...PERSON, ...wrong } });
    // The page shows the organization that was typed.
    return { status, text: fixed(text).replaceAll('nowhere', ACME) };
  };
  const wrongPassword = await refusal({ password: 'wrong password' });
  expect(wrongPassword.status).toBe(422);
  for (const wrong of [{ email: 'nobody@example.com' }, { email: BOB }, { organization: 'nowhere' }])
    expect(await refusal(wrong)).toEqual(wrongPassword);
  // No organization or user can have these names, so these pages may say what is wrong.
  for (const wrong of [{ organization: 'NOT POSSIBLE' }, { email: 'a\u0000b@example.com' }])
    expect((await refusal(wrong)).status).toBe(422);
});

it("the form shows the same fields for every e-mail, so it doesn't reveal whether a user exists", async () => {
  const b = browser();
  const page = await form(b);
  const { organization: _, ...withoutOrganization } = hiddenFields(page);
  const presets: Record<string, string>[] = [{ organization: ACME }, { organization: 'nowhere' }, {}];
  for (const preset of presets) {
    const answers: { status: number; text: string }[] = [];
    for (const email of [ANN, 'nobody@example.com', BOB, 'nobody@elsewhere.example']) {
      const answer = await b.send(actionOf(page), { form: { ...withoutOrganization, ...preset, email } });
      answers.push({ status: answer.status, text: fixed(answer.text) });
    }
    expect(answers).toEqual(answers.map(() => ({ ...answers[0], status: 200 })));
  }
  for (const email of ['', 'ann', 'a\u0000b@example.com'])
    expect((await b.send(actionOf(page), { form: { ...hiddenFields(page), email } })).status).toBe(422);
});

it(
  'a refused sign-in takes about as long for an unknown user or organization, or a user without a password, as for a wrong password',
  { timeout: 90_000 },
  async () => {
    const b = browser();
    const page = await form(b);
    const fastest = async (best: number, fields: object) => {
      await world.rows('delete from auth.throttles');
      const started = performance.now();
      await b.send(actionOf(page), { form: { ...hiddenFields(page), ...PERSON, ...fields } });
      return Math.min(best, performance.now() - started);
    };
    const others = [{ email: 'nobody@example.com' }, { organization: 'nowhere' }, { email: BOB }];
    let wrongPassword = Infinity;
    const otherTimes = others.map(() => Infinity);
    // Load only ever adds to a duration, so the shortest of several rounds approaches that of an idle machine.
    const ratios = async () => {
      wrongPassword = await fastest(wrongPassword, { password: 'wrong password' });
      for (const [n, fields] of others.entries()) otherTimes[n] = await fastest(otherTimes[n]!, fields);
      return otherTimes.map((time) => time / wrongPassword);
    };
    const alike = expect.toSatisfy((ratio: number) => ratio > 0.4 && ratio < 2.5);
    await expect.poll(ratios, { timeout: 60_000 }).toEqual(others.map(() => alike));
  },
);

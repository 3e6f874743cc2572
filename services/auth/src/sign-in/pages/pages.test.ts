import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { elementsOf, type Element } from './_elements.ts';
import { connections, consent, HOSTILE, ownTokens, pages, signIn, steps } from '../../../test/_pages.ts';
import { connectionsPage } from './connections.ts';
import { consentPage, type Consent } from './consent.ts';
import { FLOW_HEADERS, PAGE_HEADERS } from './headers.ts';
import { continuePage, errorPage } from './messages.ts';
import { notAdmittedPage } from './not-admitted.ts';
import { newTokenPage } from './own-tokens.ts';
import { signInPage } from './sign-in.ts';

const all = (page: string, tag: string) => elementsOf(page).filter((element) => element.tag === tag);
const named = (page: string, name: string) => elementsOf(page).find(({ attributes }) => attributes['name'] === name);
const words = (page: string) => elementsOf(page)[0]!.text.replace(/\s+/g, ' ');

it('the consent page says for how long the assistant stays connected', () => {
  expect(words(consentPage(consent))).toContain('It stays connected for up to a year, and not longer than 60 days without use.');
});

describe.each(Object.entries(pages))('the page %s', (_name, render) => {
  const page = render();
  const elements = elementsOf(page);

  it('is a document in a language, with a title and one heading', () => {
    expect(page).toMatch(/^<!doctype html>/);
    expect(all(page, 'html')[0]!.attributes['lang']).toBe('en');
    expect(all(page, 'title')[0]!.text).toMatch(/\S · Call Research Service$/);
    expect(all(page, 'h1')).toHaveLength(1);
    expect(all(page, 'main')).toHaveLength(1);
  });

  it('contains only what its Content-Security-Policy allows', () => {
    const styles = all(page, 'style').map(({ text }) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`);
    expect(styles).toHaveLength(1);
    expect(PAGE_HEADERS['Content-Security-Policy']).toContain(`style-src ${styles[0]!};`);
    expect(elements.map(({ tag }) => tag)).not.toEqual(expect.arrayContaining(['script']));
    const attributes = elements.flatMap((element) => Object.keys(element.attributes));
    expect(attributes.filter((name) => name === 'style' || name.startsWith('on'))).toEqual([]);
  });

  it('has forms that post the CSRF token', () => {
    for (const form of all(page, 'form')) {
      expect(form.attributes['method']).toBe('post');
      expect(form.attributes['action']).toMatch(/^\//);
      const tokens = form.elements.filter(({ attributes }) => attributes['name'] === 'csrf');
      expect(tokens.map(({ attributes }) => attributes)).toEqual([{ type: 'hidden', name: 'csrf', value: signIn.csrf }]);
    }
  });

  it('labels each of its fields, and has the elements that aria-describedby refers to', () => {
    const ids = elements.flatMap(({ attributes }) => attributes['id'] ?? []);
    expect(new Set(ids).size).toBe(ids.length);
    const labelled = all(page, 'label').map(({ attributes }) => attributes['for']);
    const fields = all(page, 'input').filter(({ attributes }) => attributes['type'] !== 'hidden');
    for (const { attributes } of fields) {
      expect(labelled).toContain(attributes['id']);
      expect(attributes['autocomplete']).toBeTruthy();
    }
    for (const { attributes } of elements)
      for (const id of (attributes['aria-describedby'] ?? '').split(' ').filter(Boolean)) expect(ids).toContain(id);
    for (const button of all(page, 'button')) expect(button.text.trim()).not.toBe('');
  });
});

/** Same elements with the same attributes, whatever is in them. */
const shape = (page: string): unknown[] =>
  elementsOf(page).map(({ tag, attributes }: Element) => [tag, ...Object.keys(attributes)].join(' '));

describe('text from outside', () => {
  const person = (text: string) => ({ name: text, email: text, organization: text });
  it.each<[string, (text: string) => string]>([
    ...Object.entries({ email: signIn, ...steps }).map(([step, page]): [string, (text: string) => string] => [
      `sign-in, ${step}`,
      (text) => {
        const more = page.provider === undefined ? {} : { provider: text };
        const known = { organization: text, email: text, changeOrganization: text, error: text };
        return signInPage({ ...page, ...known, ...more, action: text, csrf: text });
      },
    ]),
    [
      'consent',
      (text) =>
        consentPage({
          ...consent,
          action: text,
          client: { name: text, source: { kind: 'document', host: text } },
          redirect: { host: text, isApp: true },
          user: person(text),
        }),
    ],
    [
      'connections',
      (text) =>
        connectionsPage({
          ...connections,
          user: person(text),
          notice: text,
          connections: [{ ...connections.connections[1]!, id: text, name: text, redirectHosts: [text] }],
          ownTokens: {
            tokens: [{ ...ownTokens.tokens[0]!, id: text, name: text }],
            form: { ...ownTokens.form!, label: text, days: text, error: text },
          },
        }),
    ],
    ['no connections', (text) => connectionsPage({ ...connections, connections: [], address: text, user: person(text) })],
    ['new token', (text) => newTokenPage({ label: text, accessToken: text, expiresAt: new Date(), address: text })],
    [
      'not admitted',
      (text) =>
        notAdmittedPage({
          ...consent,
          action: text,
          client: { name: text, source: { kind: 'document', host: text } },
          user: person(text),
        }),
    ],
    ['error', (text) => errorPage({ title: text, message: text, requestId: text, status: 400 })],
    ['continue', (text) => continuePage({ to: text })],
  ])('stays text: %s', (_name, render) => {
    const page = render(HOSTILE);
    expect(shape(page)).toEqual(shape(render('harmless')));
    expect(
      elementsOf(page).some(({ text, attributes }) =>
        [text, ...Object.values(attributes)].some((value) => value.includes(HOSTILE)),
      ),
    ).toBe(true);
  });

  it.each(['consent-hostile', 'connections-hostile'])(
    'is in a `bdi` element, so that right-to-left text can’t reorder the words around it: %s',
    (name) => {
      // A `dd` that has only the text has no words around it.
      const withOtherWords = elementsOf(pages[name]!()).filter(
        ({ tag, elements }) => tag === 'h1' || tag === 'h2' || (tag === 'dd' && elements.length > 0),
      );
      for (const element of withOtherWords.filter(({ text }) => text.includes(HOSTILE)))
        expect(element.elements.some(({ tag, text }) => tag === 'bdi' && text === HOSTILE)).toBe(true);
    },
  );

  it('makes no link of what a client says of itself', () => {
    const page = consentPage({ ...consent, client: { name: 'javascript:alert(1)', source: { kind: 'self' } } });
    expect(all(page, 'a')).toEqual([]);
  });
});

describe('sign-in', () => {
  const fieldsOf = (page: string) =>
    all(page, 'input')
      .filter(({ attributes }) => attributes['type'] !== 'hidden')
      .map(({ attributes }) => attributes['name']);

  it('asks for the e-mail first, and for no more than it needs', () => {
    expect(fieldsOf(signInPage(signIn))).toEqual(['email']);
    expect(fieldsOf(signInPage(steps.organization))).toEqual(['email', 'organization']);
    expect(fieldsOf(signInPage(steps.password))).toEqual(['email', 'password']);
    expect(fieldsOf(signInPage(steps.provider))).toEqual([]);
  });

  it('lets password managers find the account at each step, and the password at the last', () => {
    for (const page of [signIn, steps.organization, steps.password])
      expect(named(signInPage(page), 'email')!.attributes).toMatchObject({ type: 'email', autocomplete: 'username' });
    expect(named(signInPage(steps.password), 'email')!.attributes['value']).toBe('ann@acme.example');
    expect(named(signInPage(steps.password), 'password')!.attributes['autocomplete']).toBe('current-password');
  });

  it('keeps the e-mail and the organization after an error, and associates the error with the fields for screen readers', () => {
    const page = signInPage({ ...steps.password, error: 'That is not right.' });
    expect(named(page, 'email')!.attributes).toMatchObject({ value: 'ann@acme.example', 'aria-describedby': 'error' });
    expect(named(page, 'password')!.attributes).not.toHaveProperty('value');
    expect(named(page, 'password')!.attributes).toMatchObject({ 'aria-describedby': 'error', autofocus: '' });
    const unknown = signInPage({ ...steps.organization, organization: 'acme!', error: 'That is not right.' });
    expect(named(unknown, 'organization')!.attributes).toMatchObject({
      value: 'acme!',
      'aria-describedby': 'organization-hint error',
    });
    expect(
      elementsOf(page)
        .find(({ attributes }) => attributes['id'] === 'error')!
        .text.trim(),
    ).toBe('That is not right.');
    expect(all(page, 'title')[0]!.text).toMatch(/^Error: /);
  });

  it.each([
    ['email', signIn],
    ['email', { ...steps.organization, email: '' }],
    ['organization', steps.organization],
    ['organization', { ...steps.organization, organization: 'acme!' }],
    ['email', { ...steps.password, email: '' }],
    ['password', steps.password],
  ])('begins in the first empty field, or else in the last: %s', (name, page) => {
    const focused = all(signInPage(page), 'input').filter(({ attributes }) => 'autofocus' in attributes);
    expect(focused.map(({ attributes }) => attributes['name'])).toEqual([name]);
  });

  it('does not ask for an organization that is known, and lets people name another', () => {
    for (const page of [{ ...signIn, organization: 'acme' }, steps.password, steps.provider].map(signInPage)) {
      expect(named(page, 'organization')!.attributes['type']).toBe('hidden');
      expect(words(page)).toContain('to acme');
      expect(all(page, 'a').map(({ attributes }) => attributes['href'])).toEqual(['/sign-in/other']);
    }
  });

  it('tells people who forgot their password whom to ask', () => {
    expect(words(signInPage(steps.password))).toContain('Forgot your password? Ask your organization’s administrator');
    for (const page of [signIn, steps.organization, steps.provider]) expect(words(signInPage(page))).not.toContain('Forgot');
  });

  it('has no password field where the organization’s own OpenID provider signs people in', () => {
    const page = signInPage(steps.provider);
    expect(named(page, 'password')).toBeUndefined();
    expect(all(page, 'button').map(({ text }) => text.trim())).toEqual(['Continue with login.acme.example']);
    expect(named(page, 'method')!.attributes['value']).toBe('provider');
  });
});

describe('consent', () => {
  it('names the client, where it sends people, and who is signed in', () => {
    const heading = (source: Consent['client']['source']) =>
      all(consentPage({ ...consent, client: { name: 'Claude', source } }), 'h1')[0]!.text;
    expect(heading({ kind: 'operator' })).toBe('Let Claude read your research?');
    expect(heading({ kind: 'document', host: 'evil.example' })).toBe(
      'Let Claude, identified by evil.example, read your research?',
    );
    expect(heading({ kind: 'self' })).toBe('Let an assistant that calls itself Claude read your research?');
    expect(words(consentPage(consent))).toMatch(/Ann Weber ann@acme\.example, acme .* Sends you to claude\.ai/);
  });

  it('warns if the redirect goes to an app on the user’s computer, or nobody has verified the client’s name', () => {
    const texts = (page: string) => [/can’t tell which app/.test(words(page)), /assistant’s own claim/.test(words(page))];
    const client: Consent['client'] = { name: 'Claude', source: { kind: 'self' } };
    expect(texts(consentPage(consent))).toEqual([false, false]);
    expect(texts(consentPage({ ...consent, redirect: { host: 'localhost:6274', isApp: true } }))).toEqual([true, false]);
    expect(texts(consentPage({ ...consent, client }))).toEqual([false, true]);
    expect(texts(pages['consent-app']!())).toEqual([true, true]);
    expect(words(pages['consent-app']!())).toContain('Sends you to an app on this computer localhost:6274');
  });

  it('says what is asked for, and no more', () => {
    const page = consentPage({ ...consent, scopes: ['entities:read'] });
    expect(all(page, 'li').map(({ text }) => text.trim())).toEqual([expect.stringMatching(/^Companies and products/)]);
  });

  it('is answered by a button, and the first in the form, which Enter presses, does not allow access', () => {
    const answers = all(consentPage(consent), 'button').map(({ attributes }) => attributes['value']);
    expect(answers).toEqual(['switch', 'deny', 'allow']);
  });

  it('protects Allow from clickjacking: a mouse needs two clicks, keyboards and screen readers one', () => {
    // The label covers the button. The first click on it checks the hidden radio button, and the stylesheet then removes the label.
    const guarded = elementsOf(consentPage(consent)).find(({ attributes }) => attributes['class'] === 'guarded')!;
    expect(guarded.elements.map(({ tag }) => tag)).toEqual(['input', 'button', 'label']);
    const [radio, button, cover] = guarded.elements.map(({ attributes }) => attributes);
    expect(button).toEqual({ class: 'primary', name: 'decision', value: 'allow' });
    expect(cover).toEqual({ class: 'cover', for: radio!['id'], 'aria-hidden': 'true' });
    expect(radio).toHaveProperty('hidden');
  });

  it('has no button that a fragment of the URL could focus', () => {
    for (const button of all(consentPage(consent), 'button')) expect(button.attributes).not.toHaveProperty('id');
  });
});

describe('headers', () => {
  it('forbid other sites to frame, script or keep a reference to a page, and caches to store it', () => {
    expect(PAGE_HEADERS).toEqual({
      'Content-Security-Policy': expect.stringMatching(
        /^default-src 'none'; style-src 'sha256-[^']+'; img-src data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'$/,
      ),
      'Cache-Control': 'no-store',
      'Cross-Origin-Opener-Policy': 'same-origin',
      'Permissions-Policy': expect.stringContaining('camera=()'),
      'Referrer-Policy': 'no-referrer',
      'X-Content-Type-Options': 'nosniff',
      'X-Frame-Options': 'DENY',
    });
  });

  it('of the sign-in flow have no opener policy, so that a client’s popup can report to the window that opened it', () => {
    expect(FLOW_HEADERS).not.toHaveProperty('Cross-Origin-Opener-Policy');
  });
});

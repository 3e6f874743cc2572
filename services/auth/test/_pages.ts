/** Samples of all pages, for the tests and for `trials/clients/pages.ts`, which opens them in a browser. */
import type { OAuthScope } from '@crs/kit/rpc/scopes';
import { assistantsPage } from '../src/sign-in/pages/assistants.ts';
import type { Connection, Connections } from '../src/sign-in/pages/connections.ts';
import { connectionsPage } from '../src/sign-in/pages/connections.ts';
import type { Consent } from '../src/sign-in/pages/consent.ts';
import { consentPage } from '../src/sign-in/pages/consent.ts';
import { newTokenPage } from '../src/sign-in/pages/own-tokens.ts';
import { notAdmittedPage } from '../src/sign-in/pages/not-admitted.ts';
import { continuePage, errorPage, signedOutPage } from '../src/sign-in/pages/messages.ts';
import type { SignIn } from '../src/sign-in/pages/sign-in.ts';
import { signInPage } from '../src/sign-in/pages/sign-in.ts';

const csrf = 'b0Zl9dYw4nJ1';
const user = { name: 'Ann Weber', email: 'ann@acme.example', organization: 'acme' };

export const signIn: SignIn = {
  step: 'email',
  action: '/sign-in/post',
  csrf,
  organization: '',
  email: '',
  changeOrganization: '/sign-in/other',
};
/** The steps after the e-mail. */
export const steps: Record<Exclude<SignIn['step'], 'email'>, SignIn> = {
  organization: { ...signIn, step: 'organization', email: 'ann@acme.example' },
  password: { ...signIn, step: 'password', email: 'ann@acme.example', organization: 'acme' },
  provider: { ...signIn, step: 'provider', email: 'ann@acme.example', organization: 'acme', provider: 'login.acme.example' },
};

export const consent: Consent = {
  action: '/sign-in/post',
  csrf,
  client: { name: 'Claude', source: { kind: 'document', host: 'claude.ai' } },
  redirect: { host: 'claude.ai', isApp: false },
  user,
  scopes: ['calls:read', 'projects:read', 'entities:read'],
};

const connection: Connection & { scopes: OAuthScope[] } = {
  id: 'g',
  name: 'Claude',
  source: undefined,
  redirectHosts: [],
  isManaged: false,
  count: 1,
  scopes: ['calls:read', 'projects:read', 'entities:read'],
  createdAt: new Date('2026-11-19T12:00:00Z'),
  expiresAt: new Date('2027-02-17T12:00:00Z'),
  lastUsedAt: null,
};

export const connections: Connections = {
  csrf,
  user,
  address: 'https://tools.example.com/mcp',
  connections: [
    {
      ...connection,
      id: 'g_1',
      name: 'Claude',
      source: { kind: 'document', host: 'claude.ai' },
      count: 3,
      createdAt: new Date('2026-11-02T09:14:00Z'),
      expiresAt: new Date('2027-01-31T09:14:00Z'),
      lastUsedAt: new Date('2026-11-20T16:40:00Z'),
    },
    {
      ...connection,
      id: 'g_2',
      name: 'Visual Studio Code',
      source: { kind: 'self' },
      redirectHosts: ['127.0.0.1', 'vscode.dev'],
      scopes: ['projects:read'],
    },
  ],
};

export const ownTokens: NonNullable<Connections['ownTokens']> = {
  tokens: [{ ...connection, id: 'g_3', name: 'Weekly report', lastUsedAt: new Date('2026-11-20T16:40:00Z') }],
  form: { label: '', scopes: connection.scopes, days: '30', maxLabel: 100, maxDays: 90 },
};

/** Markup, the end of a title, quotes, attributes, a character that reverses the text after it, and a long word. */
export const HOSTILE = `"></title><script>alert(1)</script>' onfocus=alert(2) x='&lt;\u202Eedualc.ia ${'W'.repeat(200)}`;

export const pages: Record<string, () => string> = {
  'sign-in': () => signInPage(signIn),
  'sign-in-known': () => signInPage({ ...signIn, organization: 'acme' }),
  'sign-in-organization': () => signInPage(steps.organization),
  'sign-in-password': () => signInPage(steps.password),
  'sign-in-error': () => signInPage({ ...steps.password, error: 'Organization, e-mail or password is incorrect.' }),
  'sign-in-provider': () => signInPage(steps.provider),
  consent: () => consentPage(consent),
  'consent-operator': () => consentPage({ ...consent, client: { name: 'Research bot', source: { kind: 'operator' } } }),
  'consent-self': () => consentPage({ ...consent, client: { name: 'Claude', source: { kind: 'self' } } }),
  'consent-app': () =>
    consentPage({
      ...consent,
      client: { name: 'MCP Inspector', source: { kind: 'self' } },
      redirect: { host: 'localhost:6274', isApp: true },
      scopes: ['projects:read'],
    }),
  'consent-hostile': () =>
    consentPage({
      ...consent,
      client: { name: HOSTILE, source: { kind: 'document', host: HOSTILE } },
      redirect: { host: HOSTILE, isApp: true },
      user: { name: HOSTILE, email: HOSTILE, organization: HOSTILE },
    }),
  assistants: () => assistantsPage({ address: connections.address }),
  connections: () => connectionsPage({ ...connections, notice: 'Cursor is disconnected.' }),
  'connections-empty': () => connectionsPage({ ...connections, connections: [] }),
  'connections-hostile': () =>
    connectionsPage({
      ...connections,
      user: { name: HOSTILE, email: HOSTILE, organization: HOSTILE },
      notice: HOSTILE,
      connections: connections.connections.map(({ redirectHosts, ...each }) => ({
        ...each,
        name: HOSTILE,
        redirectHosts: redirectHosts.map(() => HOSTILE),
      })),
      ownTokens: {
        tokens: ownTokens.tokens.map((token) => ({ ...token, name: HOSTILE })),
        form: { ...ownTokens.form!, label: HOSTILE, error: HOSTILE },
      },
    }),
  'connections-many': () =>
    connectionsPage({
      ...connections,
      connections: [
        { ...connection, id: 'g_4', name: 'Research bot', source: { kind: 'operator' }, isManaged: true },
        { ...connection, id: 'g_5', name: 'A token made by your administrator' },
        ...connections.connections,
        ...Array.from({ length: 20 }, (_, i): Connection => ({
          ...connection,
          id: `g_more_${i}`,
          name: `Assistant ${i}`,
          source: { kind: 'self' },
          redirectHosts: Array.from({ length: i + 1 }, (__, host) => `callback-${host}.assistant-${i}.example.com`),
        })),
      ],
      ownTokens: {
        tokens: Array.from({ length: 20 }, (_, i) => ({ ...ownTokens.tokens[0]!, id: `g_token_${i}`, name: `Script ${i}` })),
        form: { ...ownTokens.form!, label: 'Another', error: 'You have 20 tokens, which is the most. Revoke one first.' },
      },
    }),
  'connections-tokens': () => connectionsPage({ ...connections, ownTokens: { ...ownTokens, form: undefined } }),
  'connections-no-tokens': () =>
    connectionsPage({
      ...connections,
      connections: [],
      ownTokens: { tokens: [], form: { ...ownTokens.form!, error: 'Enter a number of days from 1 to 90.' } },
    }),
  'connections-new-token': () =>
    newTokenPage({
      label: 'Weekly report',
      accessToken: `eyJhbGciOiJFZERTQSJ9.${'dXNlcg'.repeat(80)}.${'c2ln'.repeat(20)}`,
      expiresAt: connection.expiresAt,
      address: connections.address,
    }),
  'not-admitted': () => notAdmittedPage({ ...consent, client: { name: 'Claude', source: { kind: 'self' } } }),
  'not-admitted-document': () =>
    notAdmittedPage({ ...consent, client: { name: HOSTILE, source: { kind: 'document', host: HOSTILE } } }),
  error: () =>
    errorPage({
      title: 'This sign-in has ended',
      message:
        'It took too long, was already finished, or another one began in this browser. Go back to your assistant and connect again.',
      requestId: '01JD6Z5W8Q3N7F2K9XTB4RVMHC',
      status: 400,
    }),
  'signed-out': () => signedOutPage(),
  continue: () => continuePage({ to: '/stay' }),
};

/**
 * Signs people of two organizations in through directories of Microsoft Entra's form, on a system of its own. Walks through the three proofs of an e-mail
 * address, each with an account that it lets in and with the attacks that it must refuse.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client';
import { Assistant } from './assistant.ts';
import { launch } from './browser.ts';
import { writeCertificate } from './certificate.ts';
import { CLIENT_ID, startDirectory, type Account, type Directory } from './entra.ts';
import { startSystem } from './system.ts';

const ACME = '2c1f8e0a-7d55-4f0c-9b0e-5a6f0d1b7c11';
const GLOBEX = '7be4a3d2-1f66-4a58-8f2d-0c9e4b7a9d22';
const PEOPLE = ['ann', 'bob', 'cy'];
/** Each proof, with an account that it lets in. */
const PROOFS: [proof: string, account: Account][] = [
  ['claim', { oid: 'ann', email: 'ann@acme.example', email_verified: true }],
  ['xms_edov', { oid: 'bob', email: 'bob@acme.example', xms_edov: true }],
  ['issuer', { oid: 'cy', email: 'cy@acme.example' }],
];
/** By proof, how an account is refused that has changed its `mail` to Ann's, an attribute that anybody may set in a directory of their own. */
const CHANGED_MAIL: Record<string, string> = {
  claim: 'email_verified is missing',
  xms_edov: 'email_verified and xms_edov are missing',
  issuer: 'signs in with another account',
};
const ATTACKS: [name: string, account: Account, refusal: (proof: string) => string][] = [
  ['foreign tenant', { oid: 'eve', tid: GLOBEX, email: 'ann@acme.example', xms_edov: true }, () => 'invalid answer'],
  ['changed mail', { oid: 'eve', email: 'ann@acme.example' }, (proof) => CHANGED_MAIL[proof]!],
  [
    'email_verified: false beside xms_edov',
    { oid: 'eve', email: 'ann@acme.example', email_verified: false, xms_edov: true },
    () => 'email_verified is not true',
  ],
  [
    'preferred_username instead of email',
    { oid: 'eve', preferred_username: 'ann@acme.example', xms_edov: true },
    () => 'email is missing',
  ],
  [
    'unlisted domain',
    { oid: 'eve', email: 'ann@globex.example', email_verified: true, xms_edov: true },
    () => 'does not belong to this organization',
  ],
];

const say = (line: string) => process.stdout.write(`  ${line}\n`);
const folder = await mkdtemp(join(tmpdir(), 'crs-entra-'));
const certificate = await writeCertificate(folder);
const [acme, globex] = await Promise.all([ACME, GLOBEX].map((id) => startDirectory(id, certificate)));
assert(acme && globex);
const system = await startSystem({
  NODE_EXTRA_CA_CERTS: certificate.cert,
  CRS_OIDC_ALLOW_HOSTS: [acme, globex].map(({ host }) => host).join(),
});
const browser = await launch();
try {
  await prepare();
  for (const [proof, account] of PROOFS) {
    await system.crs(['org', 'update', 'acme', '--oidc-email-proof', proof]);
    await expectAccepted(acme, 'acme', account, account.email!);
    for (const [name, attack, refusal] of ATTACKS) {
      acme.account = attack;
      const { text } = await signIn('acme');
      assert(text.includes(refusal(proof)), `${proof}, ${name}: ${text}`);
    }
    say(`${proof}: an account let in, refused: ${ATTACKS.map(([name]) => name).join(', ')}`);
  }
  // The account identifies Ann, whatever address it has by now.
  await expectAccepted(acme, 'acme', { oid: 'ann', email: 'bob@acme.example' }, 'ann@acme.example');
  await system.crs(['org', 'update', 'globex', '--oidc-email-proof', 'issuer']);
  await expectAccepted(globex, 'globex', { oid: 'ann', email: 'ann@globex.example' }, 'ann@globex.example');
  say('the other organization: only its own people, by its own directory');
} finally {
  await browser.close();
  await Promise.all([system.stop(), acme.stop(), globex.stop()]);
  await rm(folder, { recursive: true });
}
process.exit();

/** Creates two organizations, each with a directory, and people of the same names, who each lead a project. */
async function prepare(): Promise<void> {
  const lines = ['acme', 'globex'].flatMap((organization) => [
    { type: 'organization', id: organization, name: organization },
    ...PEOPLE.flatMap((name) => {
      const email = `${name}@${organization}.example`;
      const members = [{ email, role: 'lead' }];
      const project = { type: 'project', organization, id: crypto.randomUUID(), name: `Project of ${email}`, members };
      return [{ type: 'user', organization, email, name }, project];
    }),
  ]);
  await system.crs(['import', '-'], lines.map((line) => JSON.stringify(line)).join('\n'));
  for (const [organization, { issuer }] of [
    ['acme', acme!],
    ['globex', globex!],
  ] as const) {
    const domain = `${organization}.example`;
    const provider = ['--oidc-issuer', issuer, '--oidc-client-id', CLIENT_ID, '--oidc-domains', domain];
    await system.crs(['org', 'update', organization, ...provider, '--oidc-client-secret-stdin'], 'the secret');
  }
  for (const tenant of ['common', 'organizations', 'consumers']) {
    const issuer = `https://login.microsoftonline.com/${tenant}/v2.0`;
    await assert.rejects(system.crs(['org', 'update', 'acme', '--oidc-issuer', issuer, '--oidc-client-id', CLIENT_ID]));
  }
}

async function expectAccepted(directory: Directory, organization: string, account: Account, email: string): Promise<void> {
  directory.account = account;
  const { text, projects } = await signIn(organization);
  assert.deepEqual(projects, [`Project of ${email}`], text);
}

/**
 * Connects a new assistant in a new browser, which the directory signs in without a page.
 * @returns the text of the page after the sign-in and, if that is the consent page, the names of the projects that a tool then returns
 */
async function signIn(organization: string): Promise<{ text: string; projects?: string[] }> {
  const assistant = await Assistant.start();
  const connect = () => new StreamableHTTPClientTransport(new URL(system.url), { authProvider: assistant });
  const transport = connect();
  await assert.rejects(new Client({ name: 'assistant', version: '1.0.0' }).connect(transport), UnauthorizedError);
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  const page = await context.newPage();
  await page.goto(`${assistant.authorizationUrl!}&organization=${organization}`);
  await page.getByRole('button', { name: 'Continue' }).click();
  const allow = page.getByRole('button', { name: 'Allow' });
  await page.getByRole('alert').or(allow).waitFor();
  const text = await page.locator('main').innerText();
  if (!(await allow.isVisible())) {
    await context.close();
    return { text };
  }
  await page.locator('h1').hover();
  await allow.click();
  await page.waitForURL(`${assistant.redirectUrl}**`);
  await context.close();
  await transport.finishAuth(assistant.callbackParams!);
  const client = new Client({ name: 'assistant', version: '1.0.0' });
  await client.connect(connect());
  const { structuredContent } = await client.callTool({ name: 'list_projects', arguments: { scope: 'all' } });
  await client.close();
  return { text, projects: (structuredContent as { projects: { name: string }[] }).projects.map(({ name }) => name) };
}

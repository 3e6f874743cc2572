import { beforeAll, expect, it } from 'vitest';
import { parseSecrets } from '@crs/kit/process/secrets';
import { SECRET } from '@crs/testing/setup';
import { tenant } from '@crs/testing/world';
import { createEncrypters } from '../src/keys/encrypters.ts';
import { payloadKey } from '../src/sign-in/adapter.ts';
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
  await age(b, 11);
  expect((await b.open(path)).page.text).toContain('value="allow"');
  await age(b, 2);
  expect((await b.open(path)).page.text).toContain('name="email"');
});

/** Makes a browser's session older, as if the hours had passed. */
async function age({ cookies }: Browser, hours: number): Promise<void> {
  const { model, idDigest } = payloadKey('Session', cookies.get('crs_session')!);
  const [row] = await world.rows<{ encrypted: Buffer }>(
    'select payload_encrypted as encrypted from auth.oidc_payloads where model = $1 and id_digest = $2',
    [model, idDigest],
  );
  const { oidc_payloads: encrypter } = createEncrypters(parseSecrets(SECRET));
  const bound = `${model}:${idDigest.toString('base64url')}`;
  const session = JSON.parse(encrypter.decrypt(row!.encrypted, bound).toString()) as Record<'loginTs' | 'iat' | 'exp', number>;
  for (const time of ['loginTs', 'iat', 'exp'] as const) session[time] -= hours * 3_600;
  await world.rows(
    `update auth.oidc_payloads set payload_encrypted = $3, expires_at = expires_at - $4 * interval '1 hour'
      where model = $1 and id_digest = $2`,
    [model, idDigest, encrypter.encrypt(Buffer.from(JSON.stringify(session)), bound), hours],
  );
}

import { parseSecrets } from '@crs/kit/process/secrets';
import { SECRET } from '@crs/testing/setup';
import { createEncrypters } from '../src/keys/encrypters.ts';
import { payloadKey } from '../src/sign-in/adapter.ts';
import type { SharedAuthWorld } from './_fixtures.ts';
import type { Browser } from './_sign-in.ts';

/** Makes a browser's session older, as if the seconds had passed. */
export async function ageSession(world: SharedAuthWorld, { cookies }: Browser, seconds: number): Promise<void> {
  const { model, idDigest } = payloadKey('Session', cookies.get('crs_session')!);
  const [row] = await world.rows<{ encrypted: Buffer }>(
    'select payload_encrypted as encrypted from auth.oidc_payloads where model = $1 and id_digest = $2',
    [model, idDigest],
  );
  const { oidc_payloads: encrypter } = createEncrypters(parseSecrets(SECRET));
  const bound = `${model}:${idDigest.toString('base64url')}`;
  const session = JSON.parse(encrypter.decrypt(row!.encrypted, bound).toString()) as Record<'loginTs' | 'iat' | 'exp', number>;
  for (const time of ['loginTs', 'iat', 'exp'] as const) session[time] -= seconds;
  await world.rows(
    `update auth.oidc_payloads set payload_encrypted = $3, expires_at = expires_at - $4 * interval '1 second'
      where model = $1 and id_digest = $2`,
    [model, idDigest, encrypter.encrypt(Buffer.from(JSON.stringify(session)), bound), seconds],
  );
}

import { hkdfSync } from 'node:crypto';
import type { Secrets } from '@crs/kit/process/secrets';

/** Names and options of all cookies. `lax`, because clients on other sites link here. With https, prefixes keep other hosts from setting them. */
export function cookieSettings(issuer: string) {
  const secure = issuer.startsWith('https:');
  const host = secure ? '__Host-' : '';
  return {
    options: { httpOnly: true, sameSite: 'lax', path: '/', secure },
    names: {
      session: `${host}crs_session`,
      interaction: `${host}crs_interaction`,
      // oidc-provider sets a path, which `__Host-` forbids.
      resume: `${secure ? '__Secure-' : ''}crs_resume`,
      organization: `${host}crs_organization`,
      form: `${host}crs_form`,
      /** See `devices.ts`. */
      device: `${host}crs_device`,
      /** Holds a `PendingSignIn`. */
      provider: `${host}crs_provider`,
    },
  } as const;
}

/** One key per secret. The first one signs cookies, all verify them. */
export function cookieKeys(secrets: Secrets): string[] {
  return secrets.map(({ secret }) => Buffer.from(hkdfSync('sha256', secret, '', 'cookies', 32)).toString('base64url'));
}

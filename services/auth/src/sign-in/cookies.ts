import { hkdfSync } from 'node:crypto';
import type { Secrets } from '@crs/kit/process/secrets';

/** Names and options of all cookies. They are lax, because clients on other sites link here. Over https, no other host can set them. */
export function cookieSettings(issuer: string) {
  const secure = issuer.startsWith('https:');
  const host = secure ? '__Host-' : '';
  return {
    options: { httpOnly: true, sameSite: 'lax', path: '/', secure },
    names: {
      session: `${host}crs_session`,
      interaction: `${host}crs_interaction`,
      // It has a path, which `__Host-` forbids.
      resume: `${secure ? '__Secure-' : ''}crs_resume`,
      organization: `${host}crs_organization`,
      form: `${host}crs_form`,
      /** Tells which accounts the browser has signed in to: see `devices.ts`. */
      device: `${host}crs_device`,
      /** Holds a sign-in that waits for the organization's provider. */
      provider: `${host}crs_provider`,
    },
  } as const;
}

/** The keys of cookies, one of each secret. The first one signs, all verify. */
export function cookieKeys(secrets: Secrets): string[] {
  return secrets.map(({ secret }) => Buffer.from(hkdfSync('sha256', secret, '', 'cookies', 32)).toString('base64url'));
}

/** Names and options of all cookies. They are lax, because clients on other sites link here. Over https, no other host can set them. */
export function cookieSettings(issuer: string) {
  const secure = issuer.startsWith('https:');
  const host = secure ? '__Host-' : '';
  const options = { httpOnly: true, sameSite: 'lax', path: '/', secure } as const;
  return {
    options,
    // The cookie `resume` has a path, which `__Host-` forbids.
    names: {
      session: `${host}crs_session`,
      interaction: `${host}crs_interaction`,
      resume: `${secure ? '__Secure-' : ''}crs_resume`,
    },
    organization: `${host}crs_organization`,
    form: `${host}crs_form`,
    /** Tells which accounts the browser has signed in to: see `devices.ts`. */
    device: `${host}crs_device`,
    /** Holds a sign-in that waits for the organization's provider. */
    provider: `${host}crs_provider`,
  };
}

/** Lax, as clients send people here from elsewhere. Over https no other host of the domain can set them. */
export function cookieSettings(issuer: string) {
  const secure = issuer.startsWith('https:');
  const host = secure ? '__Host-' : '';
  const options = { httpOnly: true, sameSite: 'lax', path: '/', secure } as const;
  return {
    options,
    // That of an authorization to resume has a path, which `__Host-` forbids.
    names: {
      session: `${host}crs_session`,
      interaction: `${host}crs_interaction`,
      resume: `${secure ? '__Secure-' : ''}crs_resume`,
    },
    organization: `${host}crs_organization`,
    form: `${host}crs_form`,
    /** A sign-in under way at an organization's provider. */
    provider: `${host}crs_provider`,
  };
}

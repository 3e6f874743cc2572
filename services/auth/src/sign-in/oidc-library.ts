// oxlint-disable no-console
/**
 * The values of oidc-provider. Import them from this file only.
 *
 * While it loads, oidc-provider warns unless `process.release` names an LTS line of Node.js. The pinned build of Node.js 26 names none, and
 * oidc-provider has no setting for the warning. This file drops that one warning.
 */
const { warn } = console;
console.warn = (...data: unknown[]) => {
  if (!String(data[0]).includes('oidc-provider WARNING: Unsupported runtime.')) warn(...data);
};
export const { errors, interactionPolicy, Provider } = await import('oidc-provider');
console.warn = warn;

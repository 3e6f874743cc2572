import { interactionPolicy } from './oidc-library.ts';

const { base, Check, Prompt } = interactionPolicy;

/**
 * An authorization asks for sign-in if nobody is signed in. It asks for consent each time, because a consent belongs to one connection of
 * one assistant, and because anybody can register a client.
 */
export function createPolicy() {
  const policy = base();
  const login = policy.get('login')!;
  login.checks.add(
    new Check('account_gone', 'the End-User is gone', 'login_required', ({ oidc }) =>
      oidc.session?.accountId !== undefined && !oidc.account ? Check.REQUEST_PROMPT : Check.NO_NEED_TO_PROMPT,
    ),
  );
  const consent = new Prompt(
    { name: 'consent', requestable: true },
    new Check('connection', 'consent is asked each time', 'consent_required', ({ oidc }) =>
      oidc.result?.consent ? Check.NO_NEED_TO_PROMPT : Check.REQUEST_PROMPT,
    ),
  );
  policy.remove('consent');
  policy.add(consent);
  return policy;
}

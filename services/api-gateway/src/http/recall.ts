import type { IncomingMessage } from 'node:http';
import { recentSenders } from '@crs/kit/http/charge';
import { hasOneHost, plainPath, type Recall } from '@crs/kit/http/front';
import type { RefusalParts } from '@crs/kit/http/refusal';
import { overAgain, repeated, type Recalled } from '@crs/kit/http/repeated';
import type { Check } from '@crs/kit/limits/limiter';
import type { Decision, Rule } from '@crs/kit/limits/rule';
import type { AuthenticateKeyResponse } from '@crs/proto/crs/auth/v1/auth';
import { TABLES } from '../routes/index.ts';
import type { AdmissionOptions } from './admission.ts';
import { readCredential } from './credentials.ts';
import { unauthorized } from './refusal.ts';

const UNAUTHORIZED = unauthorized();
const OPEN_PATHS = new Set(Object.keys(TABLES.open).map((path) => `/v1${path}`));

/**
 * The refusals that are known before the app works: 429 where the limit of the key's organization is used up, or of the address of a
 * request without a usable key; and 401 for that request where it asks for anything that needs a key. The charges are those of `admission`.
 */
export function recallRefusal(options: AdmissionOptions): Recall {
  const { credentials, limiter, addressLimit } = options;
  const senderOf = recentSenders(options, (authorization, address) => readSender(authorization, address, addressLimit));
  return (request) => {
    const sender = senderOf(request);
    const credential = credentials.recall(sender.digest, request, sender.address);
    if (credential === undefined) return undefined;
    if (credential.answer) {
      const { check, over } = organizationOf(sender, credential.answer);
      const decision = limiter.recall(check);
      return decision && over(decision);
    }
    const decision = limiter.recall(sender.check);
    if (decision) return sender.over(decision);
    if (!needsKey(request)) return undefined;
    return limiter.checkAtLeisure(sender.check).then(sender.decide);
  };
}

type OverAgain = ReturnType<typeof overAgain>;

/** Who sends requests with one credential from one address. */
interface Sender {
  address: string;
  /** See `readCredential`. */
  digest: string | undefined;
  /** The charge of the address. */
  check: Check;
  over: OverAgain;
  /** The refusal of a request without a usable key, once it is charged. */
  decide: (decision: Decision) => Recalled;
  organization?: { answer: AuthenticateKeyResponse; check: Check; over: OverAgain };
}

function readSender(authorization: string | undefined, address: string, rule: Rule): Sender {
  const { digest, prefix } = readCredential(authorization);
  const refuse = (parts: RefusalParts) => repeated(parts, 'none', { client_address: address, credential: prefix });
  const over = overAgain('this address', refuse);
  const refusal = refuse(UNAUTHORIZED);
  const decide = (decision: Decision) => (decision.allowed ? { refusal, decision } : over(decision));
  return { address, digest, check: { kind: 'address', id: address, rule }, over, decide };
}

/** The charge of the organization of a sender's key. */
function organizationOf(sender: Sender, answer: AuthenticateKeyResponse) {
  if (sender.organization?.answer === answer) return sender.organization;
  const { organizationId: organization, rateLimit, keyId: key_id } = answer;
  const line = { client_address: sender.address, organization, key_id };
  const over = overAgain('the organization', (parts) => repeated(parts, 'none', line));
  const check: Check = { kind: 'organization', id: organization, rule: rateLimit! };
  return (sender.organization = { answer, check, over });
}

/** Whether a well-formed request asks for anything that needs a key. */
function needsKey(request: IncomingMessage): boolean {
  const path = plainPath(request);
  if (path === undefined || !path.startsWith('/v1/') || OPEN_PATHS.has(path)) return false;
  return Boolean(request.headers.host) && hasOneHost(request);
}

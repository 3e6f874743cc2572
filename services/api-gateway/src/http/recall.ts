import type { IncomingMessage } from 'node:http';
import { addressCheck, recentSenders } from '@crs/kit/http/charge';
import { hasOneHost, plainPath, type Recall } from '@crs/kit/http/front';
import { Guesses } from '@crs/kit/http/guesses';
import type { RefusalParts } from '@crs/kit/http/refusal';
import { overAgain, repeated, type Recalled } from '@crs/kit/http/repeated';
import type { Check } from '@crs/kit/limits/limiter';
import type { Decision, Rule } from '@crs/kit/limits/rule';
import type { AuthenticateKeyResponse } from '@crs/proto/crs/auth/v1/auth';
import { TABLES } from '../routes/index.ts';
import type { AdmissionOptions } from './admission.ts';
import { readCredential, type Credentials } from './credentials.ts';
import { unauthorized } from './refusal.ts';

const UNAUTHORIZED = unauthorized();
const OPEN_PATHS = new Set(Object.keys(TABLES.open).map((path) => `/v1${path}`));

/**
 * The refusals that are known before the app works: 429 where the limit of the key's organization is used up, or of the address of a
 * request without a usable key; and 401 for that request where it asks for anything that needs a key. The charges are those of `admission`.
 * An unknown key of an address whose limit is used up is looked up here, in its turn, so that the app sees it only if it is good.
 */
export function recallRefusal(options: AdmissionOptions): Recall {
  const { credentials, limiter, addressLimit } = options;
  const guesses = new Guesses(limiter);
  const senderOf = recentSenders(options, (authorization, address) => readSender(authorization, address, addressLimit));
  return (request) => {
    const sender = senderOf(request);
    const credential = credentials.recall(sender.digest, request, sender.address);
    if (credential === undefined) return ofUnknown(guesses, credentials, request, sender);
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

const LOOK_UP_MS = 1_000;

/** The refusal of a request whose key has to be looked up; undefined where the app looks it up. */
function ofUnknown(
  guesses: Guesses,
  credentials: Credentials,
  { headers }: IncomingMessage,
  { address, digest, check, overUnknown }: Sender,
): ReturnType<Recall> {
  if (digest === undefined || credentials.isKnown(digest)) return undefined;
  const lookUp = () => credentials.resolve(headers.authorization, { deadline: Date.now() + LOOK_UP_MS, address: () => address });
  return guesses.refuse({ check, digest, lookUp, over: overUnknown });
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
  /** The same for a key that nobody has looked up. The log counts all such keys of an address in one line. */
  overUnknown: OverAgain;
  /** The refusal of a request without a usable key, once it is charged. */
  decide: (decision: Decision) => Recalled;
  organization?: { answer: AuthenticateKeyResponse; check: Check; over: OverAgain };
}

function readSender(authorization: string | undefined, address: string, rule: Rule): Sender {
  const { digest, prefix } = readCredential(authorization);
  const refuse = (parts: RefusalParts) => repeated(parts, 'none', { client_address: address, credential: prefix });
  const over = overAgain('this address', refuse);
  const overUnknown = overAgain('this address', (parts) => repeated(parts, 'none', { client_address: address }));
  const refusal = refuse(UNAUTHORIZED);
  const decide = (decision: Decision) => (decision.allowed ? { refusal, decision } : over(decision));
  return { address, digest, check: addressCheck(address, rule), over, overUnknown, decide };
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

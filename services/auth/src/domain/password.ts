import { argon2, randomBytes, timingSafeEqual, type Argon2Parameters } from 'node:crypto';
import { promisify } from 'node:util';
import type { ZxcvbnFactory } from '@zxcvbn-ts/core';
import { invalid } from '@crs/kit/errors';
import { requireText } from './settings.ts';

const derive = promisify(argon2);

/** In characters, of new passwords only: users whose stored password is shorter or longer can still sign in. */
export const MIN_PASSWORD_LENGTH = 12;
export const MAX_PASSWORD_LENGTH = 256;

/** These two bounds limit the estimate of the worst password to about 20 ms; without them, it takes seconds. */
const MAX_SCORED_LENGTH = 32;
const MAX_SUBSTITUTIONS = 4;
/** zxcvbn's score for at least 10^8 guesses. */
const MIN_SCORE = 3;
/** Shorter words of the context occur in any password. */
const MIN_WORD_LENGTH = 3;

/** OWASP's recommendation for argon2id: 19 MiB, two passes, one lane. */
const COST = { memory: 19_456, passes: 2, parallelism: 1 };
const TAG_LENGTH = 32;
const PHC = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

/** @returns the argon2id hash as a PHC string */
export async function hashPassword(password: string): Promise<string> {
  const nonce = randomBytes(16);
  const tag = await hash(password, nonce, COST, TAG_LENGTH);
  return `$argon2id$v=19$m=${COST.memory},t=${COST.passes},p=${COST.parallelism}$${unpadded(nonce)}$${unpadded(tag)}`;
}

export async function verifyPassword(password: string, phc: string): Promise<boolean> {
  const match = PHC.exec(phc);
  if (!match) return false;
  const [memory, passes, parallelism] = match.slice(1, 4).map(Number) as [number, number, number];
  const expected = Buffer.from(match[5]!, 'base64');
  const tag = await hash(password, Buffer.from(match[4]!, 'base64'), { memory, passes, parallelism }, expected.length);
  return timingSafeEqual(tag, expected);
}

function hash(password: string, nonce: Buffer, cost: typeof COST, tagLength: number): Promise<Buffer> {
  const parameters: Argon2Parameters = { message: password.normalize('NFC'), nonce, ...cost, tagLength };
  return derive('argon2id', parameters);
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '');
}

/**
 * @param password of allowed length
 * @param context what an attacker knows about the user: id and name of the organization, name and e-mail of the user
 * @returns why the password is too easy to guess; undefined if it isn't
 */
export async function passwordProblem(password: string, context: (string | null | undefined)[]): Promise<string | undefined> {
  const known = context.filter((text) => text !== null && text !== undefined);
  const words = known
    .flatMap((text) => [text, ...text.split(/[^\p{L}\p{N}]+/u)])
    .filter((word) => word.length >= MIN_WORD_LENGTH);
  if ((await loadEstimator()).check(password, words).score >= MIN_SCORE) return undefined;
  return 'is too easy to guess: take a random one, or four unrelated words without names, dates and well-known phrases';
}

/** @throws ServiceError invalid_argument if the password has a length that isn't allowed or is too easy to guess */
export async function hashNewPassword(password: string, context: (string | null)[]): Promise<string> {
  requireText('password', password, MIN_PASSWORD_LENGTH, MAX_PASSWORD_LENGTH);
  const problem = await passwordProblem(password, context);
  if (problem) throw invalid('password', problem);
  return hashPassword(password);
}

let estimator: Promise<ZxcvbnFactory> | undefined;

/** Loads the dictionaries on first use: they take half a second and 40 MB, which most processes never need. */
function loadEstimator(): Promise<ZxcvbnFactory> {
  return (estimator ??= createEstimator());
}

async function createEstimator(): Promise<ZxcvbnFactory> {
  const [{ ZxcvbnFactory: Factory }, common, english] = await Promise.all([
    import('@zxcvbn-ts/core'),
    import('@zxcvbn-ts/language-common'),
    import('@zxcvbn-ts/language-en'),
  ]);
  return new Factory({
    dictionary: { ...common.dictionary, ...english.dictionary },
    graphs: common.adjacencyGraphs,
    maxLength: MAX_SCORED_LENGTH,
    l33tMaxSubstitutions: MAX_SUBSTITUTIONS,
  });
}

import { argon2, randomBytes, timingSafeEqual, type Argon2Parameters } from 'node:crypto';
import { promisify } from 'node:util';
import type { ZxcvbnFactory } from '@zxcvbn-ts/core';
import { invalid } from '@crs/kit/errors';
import { requireText } from './settings.ts';

const derive = promisify(argon2);

/** Of new passwords, in characters. Stored ones stay good, whatever their length. */
export const MIN_PASSWORD_LENGTH = 12;
export const MAX_PASSWORD_LENGTH = 256;

/** The first characters tell enough. With these two bounds, the worst text takes about 20 ms; without them, seconds. */
const MAX_SCORED_LENGTH = 32;
const MAX_SUBSTITUTIONS = 4;
/** At least 10^8 guesses. */
const MIN_SCORE = 3;
/** Shorter words occur in any text. */
const MIN_WORD_LENGTH = 3;

/** OWASP's recommendation for argon2id: 19 MiB, two passes, one lane. */
const COST = { memory: 19_456, passes: 2, parallelism: 1 };
const TAG_LENGTH = 32;
const PHC = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

/** The argon2id hash of a password, as a PHC string. */
export async function hashPassword(password: string): Promise<string> {
  const nonce = randomBytes(16);
  const tag = await hash(password, nonce, COST, TAG_LENGTH);
  return `$argon2id$v=19$m=${COST.memory},t=${COST.passes},p=${COST.parallelism}$${unpadded(nonce)}$${unpadded(tag)}`;
}

/** Whether a password has this hash. */
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
 * Why a password of allowed length is too easy to guess; undefined if it isn't.
 * @param context what an attacker knows of the user: names of the organization and the user, the e-mail
 */
export async function passwordProblem(password: string, context: (string | null | undefined)[]): Promise<string | undefined> {
  const known = context.filter((text) => text !== null && text !== undefined);
  const words = known
    .flatMap((text) => [text, ...text.split(/[^\p{L}\p{N}]+/u)])
    .filter((word) => word.length >= MIN_WORD_LENGTH);
  if ((await estimator()).check(password, words).score >= MIN_SCORE) return undefined;
  return 'is too easy to guess: take a random one, or four unrelated words without names, dates and well-known phrases';
}

/**
 * The hash of a password that a user gets.
 * @throws ServiceError invalid_argument if the password's length isn't allowed or it is too easy to guess
 */
export async function hashNewPassword(password: string, context: (string | null)[]): Promise<string> {
  requireText('password', password, MIN_PASSWORD_LENGTH, MAX_PASSWORD_LENGTH);
  const problem = await passwordProblem(password, context);
  if (problem) throw invalid('password', problem);
  return hashPassword(password);
}

let made: Promise<ZxcvbnFactory> | undefined;

/** Loads the dictionaries at the first password: they take half a second and 40 MB, which most processes never need. */
function estimator(): Promise<ZxcvbnFactory> {
  made ??= makeEstimator();
  return made;
}

async function makeEstimator(): Promise<ZxcvbnFactory> {
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

import type { ZxcvbnFactory } from '@zxcvbn-ts/core';
import { invalid } from '@crs/kit/errors';
import { MAX_PASSWORD_LENGTH, MIN_PASSWORD_LENGTH } from './password.ts';
import { requireText } from './settings.ts';

/** The first characters tell enough. With these two bounds, the worst text takes about 20 ms; without them, seconds. */
const MAX_SCORED_LENGTH = 32;
const MAX_SUBSTITUTIONS = 4;
/** At least 10^8 guesses. */
const MIN_SCORE = 3;
/** Shorter words occur in any text. */
const MIN_WORD_LENGTH = 3;

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

/** @throws ServiceError invalid_argument if the password's length isn't allowed or it is too easy to guess */
export async function requirePassword(password: string, context: (string | null | undefined)[]): Promise<void> {
  requireText('password', password, MIN_PASSWORD_LENGTH, MAX_PASSWORD_LENGTH);
  const problem = await passwordProblem(password, context);
  if (problem) throw invalid('password', problem);
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

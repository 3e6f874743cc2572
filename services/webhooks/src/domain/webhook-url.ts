import { invalid } from '@crs/kit/errors';
import { GuardedFetchError, requireFetchable, type GuardedFetchOptions } from '@crs/kit/http/guarded-fetch';
import { lengthOf, unstorable } from '@crs/kit/text';

const MAX_LENGTH = 2_000;

/** Returns the URL of an endpoint. Names are resolved only when a message is delivered. @throws ServiceError invalid_argument */
export function parseWebhookUrl(text: string, options: GuardedFetchOptions): string {
  const problem = unstorable(text);
  if (problem) throw invalid('url', problem);
  if (lengthOf(text) > MAX_LENGTH) throw invalid('url', `must be at most ${MAX_LENGTH} characters long`);
  try {
    requireFetchable(text, options);
  } catch (error) {
    const { reason } = error as GuardedFetchError;
    throw invalid('url', `must be https, at port 443 of a public address, without credentials and fragment (${reason})`);
  }
  return new URL(text).href;
}

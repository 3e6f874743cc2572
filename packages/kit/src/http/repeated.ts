import type { Decision } from '../limits/rule.ts';
import { overLimit, waitingSeconds } from './charge.ts';
import type { RefusalParts } from './refusal.ts';
import type { Tally } from './refusal-counts.ts';

/** A refusal that one sender gets again and again. Its answers differ in their request ids and in the state of the limit. */
export interface RepeatedRefusal {
  parts: RefusalParts;
  /** Path template, or `none`, as metrics name it. */
  route: string;
  /** The sender, for the log. */
  tally: Tally;
  /** What all answers have in common; made for the first answer. */
  answer?: PreparedAnswer;
}

/** An answer but for the request id and the state of the limit. */
export interface PreparedAnswer {
  /** Names and values of the headers in turns. */
  head: string[];
  /** The body around the request id; a body without the id has no `after`. */
  before: string;
  after: string | undefined;
}

/** The refusal of one request. */
export interface Recalled {
  refusal: RepeatedRefusal;
  /** The state of the limit to which the request was charged. */
  decision: Decision;
}

/** Makes refusals that one sender gets again and again. @param sender as the log names it */
export function repeated(parts: RefusalParts, route: string, sender: Omit<Tally, 'status' | 'count'>): RepeatedRefusal {
  return { parts, route, tally: { status: parts.status, ...sender, count: 0 } };
}

/** The refusals of one sender over a limit, made once for each second of waiting. @param make of the parts of a second */
export function overAgain(whose: string, make: (parts: RefusalParts) => RepeatedRefusal): (decision: Decision) => Recalled {
  let seconds: number | undefined;
  let refusal: RepeatedRefusal;
  return (decision) => {
    const left = waitingSeconds(decision);
    if (left !== seconds) {
      seconds = left;
      refusal = make(overLimit(decision, whose));
    }
    return { refusal, decision };
  };
}

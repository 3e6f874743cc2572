import type { MethodDefinition } from '@grpc/grpc-js';
import type { Answer, Question } from '@crs/proto/crs/lines/v1/lines';

/** A message of a line that asks. */
export interface Asking {
  question: Question | undefined;
  body?: unknown;
}

/** A message of a line that answers. */
export interface Answering {
  answer: Answer | undefined;
  body?: unknown;
}

/** A message without the frame that a line gives it. */
export type BodyOf<T> = T extends Asking | Answering ? (T extends { body: infer B } ? NonNullable<B> : object) : T;

export type LineDefinition = MethodDefinition<Asking, Answering>;

/** Whether a method is a line: questions and answers on a stream that stays open. */
export function isLine(method: MethodDefinition<unknown, unknown>): boolean {
  return method.requestStream && method.responseStream;
}

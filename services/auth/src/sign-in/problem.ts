import type { NextFunction, Request, Response } from 'express';
import { errors, type ErrorOut, type KoaContextWithOIDC } from 'oidc-provider';
import { toServiceError } from '@crs/kit/errors';
import { stateOf } from '@crs/kit/http/request';
import type { Logger } from '@crs/kit/process/log';
import { FLOW_HEADERS } from './pages/headers.ts';
import { errorPage } from './pages/messages.ts';

/** What people read where an authorization can't go on. */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly status: number;
  readonly title: string;

  constructor(status: number, title: string, message: string, cause?: unknown) {
    super(message, { cause });
    this.status = status;
    this.title = title;
  }
}

export function expired(cause?: unknown): Problem {
  return new Problem(
    400,
    'This sign-in is over',
    'It took too long, was finished already, or another one was begun in this browser. Go back to your assistant and connect again.',
    cause,
  );
}

export function forged(): Problem {
  return new Problem(403, 'This form is not good any more', 'Go back, load the page again and repeat what you did.');
}

export function notFound(): Problem {
  return new Problem(404, 'There is nothing here', 'Check the address, or go back to your assistant and connect again.');
}

/** For requests in which oidc-provider can't or must not send people back to the client. */
export function renderError(ctx: KoaContextWithOIDC, { error, error_description: description }: ErrorOut): void {
  ctx.set(FLOW_HEADERS);
  ctx.type = 'html';
  const isOurs = ctx.status >= 500;
  ctx.body = errorPage({
    status: ctx.status,
    title: isOurs ? 'Something went wrong on our side' : 'The assistant asked for something that can’t be',
    message: isOurs
      ? 'Try again in a moment.'
      : `Go back to it and connect again. If it stays so, tell its makers: ${error}${description ? ` (${description})` : ''}.`,
    requestId: stateOf(ctx.res as Response).id,
  });
}

/** Renders what routes of our own throw. */
export function answerProblems(log: Logger) {
  return (thrown: unknown, _request: Request, response: Response, _next: NextFunction): void => {
    const { id } = stateOf(response);
    const problem = toProblem(thrown);
    if (problem.status >= 500) log.error({ err: problem.cause, trace_id: id }, 'request not served');
    if (response.headersSent) {
      response.destroy();
      return;
    }
    const { status, title, message } = problem;
    if (status === 503) response.set('Retry-After', '1');
    response
      .status(status)
      .set(FLOW_HEADERS)
      .type('html')
      .send(errorPage({ status, title, message, requestId: id }));
  };
}

/** Whether it is worth trying again soon. */
export function isAway(thrown: unknown): boolean {
  const { kind } = toServiceError(thrown);
  return kind === 'unavailable' || kind === 'deadline_exceeded' || kind === 'resource_exhausted';
}

function toProblem(thrown: unknown): Problem {
  if (thrown instanceof Problem) return thrown;
  if (thrown instanceof errors.SessionNotFound) return expired(thrown);
  if (thrown instanceof Error && 'status' in thrown && typeof thrown.status === 'number' && thrown.status < 500)
    return new Problem(
      thrown.status,
      'This request can’t be read',
      'Go back, load the page again and repeat what you did.',
      thrown,
    );
  return new Problem(isAway(thrown) ? 503 : 500, 'Something went wrong on our side', 'Try again in a moment.', thrown);
}

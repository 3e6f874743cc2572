import type { NextFunction, Request, Response } from 'express';
import type { ErrorOut, KoaContextWithOIDC } from 'oidc-provider';
import { toServiceError } from '@crs/kit/errors';
import { stateOf } from '@crs/kit/http/request';
import type { Logger } from '@crs/kit/process/log';
import { isBusy } from './fetch-pool.ts';
import { errors } from './oidc-library.ts';
import { FLOW_HEADERS, sendPage } from './pages/headers.ts';
import { errorPage } from './pages/messages.ts';

/** An error with a page for people. `message` is the text of the page. */
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

const OURS = 'Something went wrong on our side';

export function expired(cause?: unknown): Problem {
  return new Problem(
    400,
    'This sign-in has ended',
    'It took too long, was already finished, or another one began in this browser. Go back to your assistant and connect again.',
    cause,
  );
}

/** Renders errors after which oidc-provider can't or must not redirect to the client. */
export function renderError(ctx: KoaContextWithOIDC, { error, error_description: description }: ErrorOut): void {
  ctx.set(FLOW_HEADERS);
  ctx.type = 'html';
  const isOurs = ctx.status >= 500;
  ctx.body = errorPage({
    status: ctx.status,
    title: isOurs ? OURS : 'This connection request isn’t valid',
    message: isOurs
      ? 'Try again in a moment.'
      : `Go back to your assistant and connect again. If this happens again, report this error to the assistant’s makers: ${error}${description ? ` (${description})` : ''}.`,
    requestId: stateOf(ctx.res as Response).id,
  });
}

/** Replaces the answer to a request that found no place for a fetch from the client's host. */
export function renderBusy(ctx: Pick<KoaContextWithOIDC, 'status' | 'set' | 'type' | 'body' | 'res'>): void {
  const description = 'Too many details of assistants are being fetched right now. Try again in a few seconds.';
  ctx.status = 503;
  ctx.set('Retry-After', '2');
  if (ctx.type !== 'text/html') {
    ctx.body = { error: 'temporarily_unavailable', error_description: description };
    return;
  }
  const requestId = stateOf(ctx.res as Response).id;
  ctx.body = errorPage({ status: 503, title: 'Sign-in is busy', message: description, requestId });
}

/** Renders errors that our own routes throw. */
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
    sendPage(response.status(status), FLOW_HEADERS, errorPage({ status, title, message, requestId: id }));
  };
}

/** Whether the same request may succeed soon. */
export function isAway(thrown: unknown): boolean {
  const { kind } = toServiceError(thrown);
  return kind === 'unavailable' || kind === 'deadline_exceeded' || kind === 'resource_exhausted';
}

function toProblem(thrown: unknown): Problem {
  if (thrown instanceof Problem) return thrown;
  if (thrown instanceof errors.SessionNotFound) return expired(thrown);
  if (isBusy(thrown)) {
    const message = 'Too many people of your organization sign in right now. Go back, and try again in a few seconds.';
    return new Problem(503, 'Sign-in is busy', message, thrown);
  }
  if (thrown instanceof Error && 'status' in thrown && typeof thrown.status === 'number' && thrown.status < 500)
    return new Problem(thrown.status, 'This request can’t be read', 'Go back, reload the page and try again.', thrown);
  return new Problem(isAway(thrown) ? 503 : 500, OURS, 'Try again in a moment.', thrown);
}

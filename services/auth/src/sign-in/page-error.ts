import type { NextFunction, Request, Response } from 'express';
import type { ErrorOut, KoaContextWithOIDC } from 'oidc-provider';
import { toServiceError } from '@crs/kit/errors';
import { stateOf } from '@crs/kit/http/request';
import type { Logger } from '@crs/kit/process/log';
import { isBusy } from './fetch-pool.ts';
import { errors } from './oidc-library.ts';
import { FLOW_HEADERS, sendPage } from './pages/headers.ts';
import { errorPage } from './pages/messages.ts';

/** An error that is shown as a page. `message` is the text of the page. */
export class PageError extends Error {
  override readonly name = 'PageError';
  readonly status: number;
  readonly title: string;

  constructor(status: number, title: string, message: string, cause?: unknown) {
    super(message, { cause });
    this.status = status;
    this.title = title;
  }
}

const INTERNAL_TITLE = 'Something went wrong on our side';

export function expired(cause?: unknown): PageError {
  return new PageError(
    400,
    'This sign-in has ended',
    'It took too long, was already finished, or another one began in this browser. Go back to your assistant and connect again.',
    cause,
  );
}

/** Renders errors that oidc-provider can't or must not send to the client by a redirect. */
export function renderError(ctx: KoaContextWithOIDC, { error, error_description: description }: ErrorOut): void {
  const reason = `${error}${description ? ` (${description})` : ''}`;
  const advice =
    'Go back to your assistant and connect again. If this happens again, report this error to the assistant’s makers';
  ctx.set(FLOW_HEADERS);
  ctx.type = 'html';
  ctx.body =
    ctx.status >= 500
      ? pageFor(ctx, INTERNAL_TITLE, 'Try again in a moment.')
      : pageFor(ctx, 'This connection request isn’t valid', `${advice}: ${reason}.`);
}

/** Replaces the response to a request that found the fetch pool full. */
export function renderBusy(ctx: KoaContextWithOIDC): void {
  const message = 'Too many details of assistants are being fetched right now. Try again in a few seconds.';
  ctx.status = 503;
  ctx.set('Retry-After', '2');
  ctx.body =
    ctx.type === 'text/html'
      ? pageFor(ctx, 'Sign-in is busy', message)
      : { error: 'temporarily_unavailable', error_description: message };
}

function pageFor({ status, res }: KoaContextWithOIDC, title: string, message: string): string {
  return errorPage({ status, title, message, requestId: stateOf(res as Response).id });
}

/** The last handler of the app. Renders errors that our own routes throw. */
export function pageErrorHandler(log: Logger) {
  return (thrown: unknown, _request: Request, response: Response, _next: NextFunction): void => {
    const { id } = stateOf(response);
    const { status, title, message, cause } = toPageError(thrown);
    if (status >= 500) log.error({ err: cause, trace_id: id }, 'request not served');
    if (response.headersSent) {
      response.destroy();
      return;
    }
    if (status === 503) response.set('Retry-After', '1');
    sendPage(response.status(status), FLOW_HEADERS, errorPage({ status, title, message, requestId: id }));
  };
}

/** Whether the same request may succeed soon. */
export function isTransient(thrown: unknown): boolean {
  return ['unavailable', 'deadline_exceeded', 'resource_exhausted'].includes(toServiceError(thrown).kind);
}

function toPageError(thrown: unknown): PageError {
  if (thrown instanceof PageError) return thrown;
  if (thrown instanceof errors.SessionNotFound) return expired(thrown);
  if (isBusy(thrown)) {
    const message = 'Too many people of your organization sign in right now. Go back, and try again in a few seconds.';
    return new PageError(503, 'Sign-in is busy', message, thrown);
  }
  if (thrown instanceof Error && 'status' in thrown && typeof thrown.status === 'number' && thrown.status < 500)
    return new PageError(thrown.status, 'This request can’t be read', 'Go back, reload the page and try again.', thrown);
  return new PageError(isTransient(thrown) ? 503 : 500, INTERNAL_TITLE, 'Try again in a moment.', thrown);
}

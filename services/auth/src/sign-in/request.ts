import type { Request, Response } from 'express';
import type Provider from 'oidc-provider';
import { clientAddress } from '@crs/kit/http/address';

/** What a route of ours needs of a request, besides what Express gives. */
export interface Visit {
  request: Request;
  response: Response;
  provider: Provider;
}

/** Only the tool gateway reaches this listener, and it says last in the list whose request it passes on. */
export function addressOf(request: Pick<Request, 'headers' | 'socket'>): string {
  const forwarded = request.headers['x-forwarded-for'];
  const last = (Array.isArray(forwarded) ? forwarded.at(-1) : forwarded)?.split(',').at(-1)?.trim();
  return clientAddress(last ?? request.socket.remoteAddress, undefined, []);
}

/** A field of a form; empty where it is missing or there are several. */
export function field(request: Request, name: string): string {
  const body: unknown = request.body;
  const value = typeof body === 'object' && body !== null ? (body as Record<string, unknown>)[name] : undefined;
  return typeof value === 'string' ? value : '';
}

export function queryOf(request: Request): URLSearchParams {
  return new URL(request.originalUrl, 'http://path.invalid').searchParams;
}

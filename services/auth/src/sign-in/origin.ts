import type { NextFunction, Request, Response } from 'express';

/** Replaces the host and scheme of each request by the issuer's, because oidc-provider builds URLs from them. */
export function pinOrigin(issuer: string) {
  const { host, protocol } = new URL(issuer);
  return ({ headers }: Request, _response: Response, next: NextFunction): void => {
    headers.host = host;
    headers['x-forwarded-proto'] = protocol.slice(0, -1);
    delete headers['x-forwarded-host'];
    delete headers['forwarded'];
    next();
  };
}

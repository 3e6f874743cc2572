import type { NextFunction, Request, Response } from 'express';

/** Whatever the request says of host and scheme: URLs come from the issuer alone. */
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

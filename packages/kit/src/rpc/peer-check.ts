import type { ServerUnaryCall } from '@grpc/grpc-js';
import { REASONS, ServiceError } from '../errors.ts';
import type { Logger } from '../process/log.ts';
import type { Program } from '../process/peers.ts';
import type { Tls } from '../process/tls.ts';

type Call = ServerUnaryCall<unknown, unknown>;

/** @throws ServiceError permission_denied if the connection's certificate belongs to none of these programs */
export type PeerCheck = (call: Call, method: string, from: readonly Program[]) => void;

/** Creates the check of a listener. If certificates name no programs (no TLS, or one certificate for all), it admits every call. */
export function createPeerCheck({ tls, log }: { tls?: Tls | undefined; log: Logger }): PeerCheck {
  const peers = tls?.peers;
  if (!peers) return () => {};
  // Parses a certificate once per connection, not per call.
  const namesBySession = new WeakMap<object, string[]>();
  const namesOf = (call: Call): string[] => {
    const session = sessionOf(call);
    const cached = session && namesBySession.get(session);
    if (cached) return cached;
    const names = peers.namesOf(call.getAuthContext().sslPeerCertificate?.raw);
    if (session) namesBySession.set(session, names);
    return names;
  };
  return (call, method, from) => {
    const names = namesOf(call);
    if (peers.admits(names, from)) return;
    log.warn({ rpc: method, peer: names, address: call.getPeer() }, 'a program made a call that is not for it');
    throw new ServiceError('permission_denied', `The certificate of the connection must be of ${from.join(' or ')}.`, {
      reason: REASONS.peerNotAdmitted,
    });
  };
}

/** The HTTP/2 session of a call, through private properties of grpc-js. If an upgrade moves them, the certificate is parsed for each call. */
function sessionOf(call: Call): object | undefined {
  return (call as { call?: { stream?: { session?: object } } }).call?.stream?.session;
}

import type { ServerUnaryCall } from '@grpc/grpc-js';
import { REASONS, ServiceError } from '../errors.ts';
import type { Logger } from '../process/log.ts';
import type { Program } from '../process/peers.ts';
import type { Tls } from '../process/tls.ts';

type Call = ServerUnaryCall<unknown, unknown>;

/** @throws ServiceError permission_denied where the certificate of the connection is of none of these programs */
export type PeerCheck = (call: Call, method: string, from: readonly Program[]) => void;

/** The check of a listener. Where clients have no names (no TLS, or one certificate for all), callers are admitted by their tokens alone. */
export function createPeerCheck({ tls, log }: { tls?: Tls | undefined; log: Logger }): PeerCheck {
  const peers = tls?.peers;
  if (!peers) return () => {};
  // A certificate is parsed once for its connection, not for each call.
  const known = new WeakMap<object, string[]>();
  const namesOf = (call: Call): string[] => {
    const session = sessionOf(call);
    const remembered = session && known.get(session);
    if (remembered) return remembered;
    const names = peers.namesOf(call.getAuthContext().sslPeerCertificate?.raw);
    if (session) known.set(session, names);
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

/**
 * The HTTP/2 session of a call, whose certificate never changes. grpc-js has no public property for it. Where another version of grpc-js
 * keeps it elsewhere, each call reads the certificate.
 */
function sessionOf(call: Call): object | undefined {
  return (call as { call?: { stream?: { session?: object } } }).call?.stream?.session;
}

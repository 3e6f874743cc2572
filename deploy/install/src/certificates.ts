import { randomBytes, type X509Certificate } from 'node:crypto';
import type { Logger } from '@crs/kit/process/log';
import { Failure } from './failure.ts';
import type { SecretData, SecretStore } from './secrets.ts';
import { createAuthority, dnsNamesOf, isInLastThird, isKeyOf, issueCertificate, parseCertificate, type Pair } from './x509.ts';

const AUTHORITY_DAYS = 730;
const CERTIFICATE_DAYS = 30;
/** The kubelet brings a changed Secret into a pod within two minutes, and processes read the files every few seconds. */
const SETTLE_MS = 10 * 60_000;
/** A replacement of the authority takes seven passes if it waits for nothing. The others are for conflicts. */
const MAX_PASSES = 20;
const AUTHORITY = 'authority';

export interface VersionedSecret {
  data: SecretData;
  /** It changes with each update. */
  version: string;
}

/** A place for secrets that change. */
export interface VersionedSecretStore extends SecretStore {
  /** @returns undefined if it doesn't exist */
  find(name: string): Promise<VersionedSecret | undefined>;
  /** Replaces the data. @returns false if the secret was changed after it was found */
  update(name: string, data: SecretData, found: VersionedSecret): Promise<boolean>;
}

export interface Parts {
  /** Names of the parts of the installation that get a certificate, such as `calls`. */
  names: string[];
  /** The beginning of the names of the installation's objects, such as `crs-call-research`. */
  prefix: string;
  namespace: string;
  /** The end of the names by which services recognize their clients, such as `crs-call-research.research.call-research`. */
  peerDomain: string;
}

/**
 * The authorities of an installation. The fields record how far a replacement has got: with `next`, the coming authority is trusted everywhere but signs
 * nothing yet; with `former`, the new authority signs and the old one is still trusted.
 */
interface Authorities {
  signing: Pair;
  next?: Pair;
  /** Its certificate. The key is gone. */
  former?: string;
  /** Since then, all secrets fit these authorities. */
  settled?: Date;
  /** An operator asked for a replacement: with the usual waits, or without them. */
  replace?: 'gradually' | 'at-once';
}

/** The name of the secret that holds a part's certificate. */
export const certificateSecretOf = (part: string) => `${part}-mtls`;

/** A part's DNS names: those of its Service, by which clients reach it, and the one by which servers recognize it as a client. */
export function namesOf(part: string, { prefix, namespace, peerDomain }: Parts): string[] {
  const host = `${prefix}-${part}`;
  // The first name is the certificate's subject, too, which holds 64 characters at most.
  return [
    host,
    `${host}.${namespace}`,
    `${host}.${namespace}.svc`,
    `${host}.${namespace}.svc.cluster.local`,
    `${part}.${peerDomain}`,
  ];
}

/**
 * Makes and renews the certificates of an installation and their authority, as far as that is due. It may run at any time, and several times at once.
 * A secret of a part has `tls.crt`, `tls.key`, and in `ca.crt` all authorities to trust.
 * @throws Failure if a person has to act
 */
export async function maintainCertificates(
  store: VersionedSecretStore,
  parts: Parts,
  log: Logger,
  now = new Date(),
): Promise<void> {
  for (let pass = 0; pass < MAX_PASSES; pass += 1) {
    const found = await findAuthority(store, parts, now, log);
    if (!found) continue;
    const authorities = readAuthorities(found.data, store.describe(AUTHORITY));
    let changed = false;
    let conflict = false;
    for (const part of parts.names) {
      const outcome = await maintainPart(store, part, parts, authorities, now, log);
      changed ||= outcome === 'changed';
      conflict ||= outcome === 'conflict';
    }
    if (conflict) continue;
    const following = await advance(authorities, changed, parts, now);
    if (!following) return;
    if (await store.update(AUTHORITY, writeAuthorities(following), found)) log.info({ step: stepOf(following) }, 'authority');
  }
  throw new Failure(`${store.describe(AUTHORITY)} changes all the time: is there another installation with the same names?`);
}

/** A store that creates no secret, for an account without that right: it can't be narrowed to names. */
export function existingOnly(store: VersionedSecretStore): VersionedSecretStore {
  return {
    ...store,
    create: (name) => Promise.reject(new Failure(`${store.describe(name)} is missing. The Job of \`helm upgrade\` makes it.`)),
  };
}

async function findAuthority(store: VersionedSecretStore, { prefix }: Parts, now: Date, log: Logger) {
  const found = await store.find(AUTHORITY);
  if (found) return found;
  if (await store.create(AUTHORITY, writeAuthorities({ signing: await newAuthority(prefix, now) })))
    log.info({ secret: AUTHORITY }, 'made');
  return undefined;
}

/** Authorities have different names, so that OpenSSL never tries the wrong one. */
function newAuthority(prefix: string, now: Date): Promise<Pair> {
  return createAuthority(`${prefix} ${randomBytes(4).toString('hex')}`, AUTHORITY_DAYS, now);
}

async function maintainPart(
  store: VersionedSecretStore,
  part: string,
  parts: Parts,
  authorities: Authorities,
  now: Date,
  log: Logger,
): Promise<'unchanged' | 'changed' | 'conflict'> {
  const name = certificateSecretOf(part);
  const names = namesOf(part, parts);
  const found = await store.find(name);
  const fits = found !== undefined && isCurrent(found.data, authorities.signing, names, now);
  const trusted = [authorities.signing.cert, authorities.next?.cert, authorities.former].join('');
  if (fits && found.data['ca.crt'] === trusted) return 'unchanged';
  const { cert, key } = fits
    ? { cert: found.data['tls.crt']!, key: found.data['tls.key']! }
    : await issueCertificate(authorities.signing, names, CERTIFICATE_DAYS, now);
  const data = { 'tls.crt': cert, 'tls.key': key, 'ca.crt': trusted };
  const stored = found ? await store.update(name, data, found) : await store.create(name, data, 'kubernetes.io/tls');
  if (!stored) return 'conflict';
  log.info({ secret: name, certificate: fits ? 'kept' : 'new' }, found ? 'changed' : 'made');
  return 'changed';
}

/** Whether a certificate is of the signing authority, has the right names, and needn't be renewed yet. */
function isCurrent(data: SecretData, signing: Pair, names: string[], now: Date): boolean {
  const certificate = parseCertificate(data['tls.crt']);
  const authority = parseCertificate(signing.cert);
  if (!certificate || !authority || !isKeyOf(certificate, data['tls.key'])) return false;
  if (!certificate.checkIssued(authority) || !certificate.verify(authority.publicKey)) return false;
  return dnsNamesOf(certificate).join() === names.join() && !isInLastThird(certificate, now);
}

/** @returns what follows; undefined if nothing is due @param changed whether a secret didn't fit the authorities until now */
async function advance(
  authorities: Authorities,
  changed: boolean,
  { prefix }: Parts,
  now: Date,
): Promise<Authorities | undefined> {
  const { signing, next, former, settled, replace } = authorities;
  const certificate = parseCertificate(signing.cert) as X509Certificate;
  if (!next && !former) {
    const due = replace !== undefined || isInLastThird(certificate, now);
    return due ? { signing, next: await newAuthority(prefix, now), ...(replace && { replace }) } : undefined;
  }
  // Certificates of an authority that has ended are good for nothing, so waiting would not help.
  const ended = certificate.validToDate < now;
  if (!ended) {
    if (changed || !settled) return { ...authorities, settled: now };
    const wait = replace === 'at-once' ? 0 : SETTLE_MS;
    if (now.getTime() - settled.getTime() < wait) return undefined;
  }
  return next ? { signing: next, former: signing.cert, ...(replace && { replace }) } : { signing };
}

/** The steps of a replacement, as the log names them. */
function stepOf({ next, former, settled }: Authorities): string {
  const step = next ? 'the next authority is trusted, too' : former ? 'the new authority signs' : 'one authority is trusted';
  return settled ? `${step}: in all secrets` : step;
}

function readAuthorities(data: SecretData, described: string): Authorities {
  const pair = (name: string): Pair | undefined => {
    const [cert, key] = [data[`${name}.crt`], data[`${name}.key`]];
    if (cert === undefined && key === undefined) return undefined;
    const certificate = parseCertificate(cert);
    if (!certificate || !isKeyOf(certificate, key))
      throw new Failure(`${name}.crt and ${name}.key in ${described} don't fit together.`);
    return { cert: cert!, key: key! };
  };
  const signing = pair('ca');
  if (!signing) throw new Failure(`${described} has no ca.crt and ca.key.`);
  const replace = data['replace'];
  if (replace !== undefined && replace !== 'gradually' && replace !== 'at-once')
    throw new Failure(`replace in ${described} must be "gradually" or "at-once".`);
  const next = pair('next');
  const former = data['former.crt'];
  const settled = data['settled'];
  return {
    signing,
    ...(next && { next }),
    ...(former !== undefined && { former }),
    ...(settled !== undefined && { settled: new Date(settled) }),
    ...(replace && { replace }),
  };
}

function writeAuthorities({ signing, next, former, settled, replace }: Authorities): SecretData {
  return {
    'ca.crt': signing.cert,
    'ca.key': signing.key,
    ...(next && { 'next.crt': next.cert, 'next.key': next.key }),
    ...(former !== undefined && { 'former.crt': former }),
    ...(settled && { settled: settled.toISOString() }),
    ...(replace && { replace }),
  };
}

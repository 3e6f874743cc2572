import { randomBytes, type X509Certificate } from 'node:crypto';
import type { Logger } from '@crs/kit/process/log';
import { Failure } from './failure.ts';
import type { SecretData, SecretStore } from './secrets.ts';
import { createAuthority, dnsNamesOf, isInLastThird, isKeyOf, issueCertificate, parseCertificate, type Pair } from './x509.ts';

const AUTHORITY_DAYS = 730;
const CERTIFICATE_DAYS = 30;
/** Longer than a change needs to reach processes: the kubelet updates a pod's files within two minutes, and processes read them every few seconds. */
const SETTLE_MS = 10 * 60_000;
/** Replacing the CA takes seven passes without waits. The others are for conflicts. */
const MAX_PASSES = 20;
const AUTHORITY = 'authority';

export interface VersionedSecret {
  data: SecretData;
  /** Changes with each update. */
  version: string;
}

/** A store of secrets that can be updated. */
export interface VersionedSecretStore extends SecretStore {
  /** @returns undefined if it doesn't exist */
  find(name: string): Promise<VersionedSecret | undefined>;
  /** Replaces the data. @returns false if the secret has changed since it was found */
  update(name: string, data: SecretData, found: VersionedSecret): Promise<boolean>;
}

export interface Components {
  /** The components of the installation that get a certificate, such as `calls`. */
  names: string[];
  /** The prefix of the names of the installation's objects, such as `crs-call-research`. */
  prefix: string;
  namespace: string;
  /** The suffix of the clients' names in certificates, such as `crs-call-research.research.call-research`. */
  peerDomain: string;
}

/**
 * The CAs of an installation. The fields record the progress of a replacement: with `next`, the new CA is trusted but doesn't sign yet; with `former`, the
 * new CA signs and the old one is still trusted.
 */
interface Authorities {
  signing: Pair;
  next?: Pair;
  /** Only its certificate: the key is deleted. */
  former?: string;
  /** When all secrets were first found to match these CAs. */
  settled?: Date;
  /** An operator requests a replacement, with the usual waits or without them. */
  replace?: 'gradually' | 'at-once';
}

export const certificateSecretOf = (component: string) => `${component}-mtls`;

/** Returns a component's DNS names: those of its Service, and the one that identifies it as a client. */
export function namesOf(component: string, { prefix, namespace, peerDomain }: Components): string[] {
  const host = `${prefix}-${component}`;
  // The first name is also the certificate's subject, which has at most 64 characters.
  return [
    host,
    `${host}.${namespace}`,
    `${host}.${namespace}.svc`,
    `${host}.${namespace}.svc.cluster.local`,
    `${component}.${peerDomain}`,
  ];
}

/**
 * Creates missing certificates and their CA, renews the certificates, and replaces the CA, once each is due. It may run at any time, also concurrently.
 * A component's secret has `tls.crt`, `tls.key`, and in `ca.crt` all trusted CAs.
 * @throws Failure if a person has to act
 */
export async function maintainCertificates(
  store: VersionedSecretStore,
  components: Components,
  log: Logger,
  now = new Date(),
): Promise<void> {
  for (let pass = 0; pass < MAX_PASSES; pass += 1) {
    const found = await findAuthority(store, components, now, log);
    if (!found) continue;
    const authorities = readAuthorities(found.data, store.describe(AUTHORITY));
    let changed = false;
    let conflict = false;
    for (const component of components.names) {
      const outcome = await maintainComponent(store, component, components, authorities, now, log);
      changed ||= outcome === 'changed';
      conflict ||= outcome === 'conflict';
    }
    if (conflict) continue;
    const following = await advance(authorities, changed, components, now);
    if (!following) return;
    if (await store.update(AUTHORITY, writeAuthorities(following), found)) log.info({ step: stepOf(following) }, 'authority');
  }
  throw new Failure(`${store.describe(AUTHORITY)} changes all the time: is there another installation with the same names?`);
}

/** A store that never creates secrets: the CronJob's account lacks that permission, because RBAC can't restrict `create` to named objects. */
export function existingOnly(store: VersionedSecretStore): VersionedSecretStore {
  return {
    ...store,
    create: (name) => Promise.reject(new Failure(`${store.describe(name)} is missing. The Job of \`helm upgrade\` makes it.`)),
  };
}

async function findAuthority(store: VersionedSecretStore, { prefix }: Components, now: Date, log: Logger) {
  const found = await store.find(AUTHORITY);
  if (found) return found;
  if (await store.create(AUTHORITY, writeAuthorities({ signing: await newAuthority(prefix, now) })))
    log.info({ secret: AUTHORITY }, 'made');
  return undefined;
}

/** Each CA has another name, because OpenSSL chooses a CA by name. */
function newAuthority(prefix: string, now: Date): Promise<Pair> {
  return createAuthority(`${prefix} ${randomBytes(4).toString('hex')}`, AUTHORITY_DAYS, now);
}

async function maintainComponent(
  store: VersionedSecretStore,
  component: string,
  components: Components,
  authorities: Authorities,
  now: Date,
  log: Logger,
): Promise<'unchanged' | 'changed' | 'conflict'> {
  const name = certificateSecretOf(component);
  const names = namesOf(component, components);
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

/** Whether a certificate was issued by the signing CA, has the right names, and isn't due for renewal. */
function isCurrent(data: SecretData, signing: Pair, names: string[], now: Date): boolean {
  const certificate = parseCertificate(data['tls.crt']);
  const authority = parseCertificate(signing.cert);
  if (!certificate || !authority || !isKeyOf(certificate, data['tls.key'])) return false;
  if (!certificate.checkIssued(authority) || !certificate.verify(authority.publicKey)) return false;
  return dnsNamesOf(certificate).join() === names.join() && !isInLastThird(certificate, now);
}

/** Takes the next step of a replacement. @param changed whether this pass has updated a secret @returns undefined if nothing is due */
async function advance(
  authorities: Authorities,
  changed: boolean,
  { prefix }: Components,
  now: Date,
): Promise<Authorities | undefined> {
  const { signing, next, former, settled, replace } = authorities;
  const certificate = parseCertificate(signing.cert) as X509Certificate;
  if (!next && !former) {
    const due = replace !== undefined || isInLastThird(certificate, now);
    return due ? { signing, next: await newAuthority(prefix, now), ...(replace && { replace }) } : undefined;
  }
  // Once the CA has expired, its certificates are invalid anyway, so waiting would not help.
  const ended = certificate.validToDate < now;
  if (!ended) {
    if (changed || !settled) return { ...authorities, settled: now };
    const wait = replace === 'at-once' ? 0 : SETTLE_MS;
    if (now.getTime() - settled.getTime() < wait) return undefined;
  }
  return next ? { signing: next, former: signing.cert, ...(replace && { replace }) } : { signing };
}

/** Describes the step of a replacement, for the log. */
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

// @peculiar/x509 needs this before its own modules run.
import 'reflect-metadata';
import { createPrivateKey, randomBytes, webcrypto, X509Certificate } from 'node:crypto';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509CertificateGenerator,
  type Extension,
} from '@peculiar/x509';

/** A certificate and its private key, in PEM. */
export interface Pair {
  cert: string;
  key: string;
}

const ECDSA = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const DAY_MS = 86_400_000;
/** Tolerates clocks that differ between nodes. */
const EARLIER_MS = 3_600_000;

/** Creates a CA: a self-signed certificate that may sign other certificates, but no further CA. */
export async function createAuthority(name: string, days: number, now: Date): Promise<Pair> {
  const keys = await generateKeys();
  const id = await SubjectKeyIdentifierExtension.create(keys.publicKey, false, webcrypto);
  return write(keys, {
    name,
    issuer: name,
    signingKey: keys.privateKey,
    end: now.getTime() + days * DAY_MS,
    now,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      id,
    ],
  });
}

/**
 * Issues a certificate for servers and clients. It expires no later than its CA.
 * @param names DNS names. The first one is also the subject
 */
export async function issueCertificate(authority: Pair, names: string[], days: number, now: Date): Promise<Pair> {
  const keys = await generateKeys();
  const issuer = new X509Certificate(authority.cert);
  const signingKey = await webcrypto.subtle.importKey(
    'pkcs8',
    createPrivateKey(authority.key).export({ type: 'pkcs8', format: 'der' }),
    ECDSA,
    false,
    ['sign'],
  );
  const issuerKey = await webcrypto.subtle.importKey(
    'spki',
    issuer.publicKey.export({ type: 'spki', format: 'der' }),
    ECDSA,
    true,
    ['verify'],
  );
  return write(keys, {
    name: names[0]!,
    issuer: commonNameOf(issuer),
    signingKey,
    end: Math.min(now.getTime() + days * DAY_MS, issuer.validToDate.getTime()),
    now,
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth, ExtendedKeyUsage.clientAuth]),
      new SubjectAlternativeNameExtension(names.map((value) => ({ type: 'dns' as const, value }))),
      await SubjectKeyIdentifierExtension.create(keys.publicKey, false, webcrypto),
      await AuthorityKeyIdentifierExtension.create(issuerKey, false, webcrypto),
    ],
  });
}

/** Whether less than a third of a certificate's lifetime is left. */
export function isInLastThird(certificate: X509Certificate, now: Date): boolean {
  const [from, to] = [certificate.validFromDate.getTime(), certificate.validToDate.getTime()];
  return to - now.getTime() < (to - from) / 3;
}

/** @returns undefined if it isn't a certificate in PEM */
export function parseCertificate(pem: string | undefined): X509Certificate | undefined {
  try {
    return new X509Certificate(pem ?? '');
  } catch {
    return undefined;
  }
}

/** Whether a key, in PEM, belongs to a certificate. */
export function isKeyOf(certificate: X509Certificate, pem: string | undefined): boolean {
  try {
    return certificate.checkPrivateKey(createPrivateKey(pem ?? ''));
  } catch {
    return false;
  }
}

export function dnsNamesOf(certificate: X509Certificate): string[] {
  return (certificate.subjectAltName ?? '').split(', ').map((name) => name.replace(/^DNS:/, ''));
}

function generateKeys() {
  return webcrypto.subtle.generateKey(ECDSA, true, ['sign', 'verify']);
}

function commonNameOf(certificate: X509Certificate): string {
  return certificate.subject.replace(/^CN=/, '');
}

interface Content {
  name: string;
  issuer: string;
  signingKey: webcrypto.CryptoKey;
  now: Date;
  /** Epoch milliseconds. */
  end: number;
  extensions: Extension[];
}

async function write(keys: webcrypto.CryptoKeyPair, content: Content): Promise<Pair> {
  const certificate = await X509CertificateGenerator.create(
    {
      // Positive, as RFC 5280 requires.
      serialNumber: `01${randomBytes(15).toString('hex')}`,
      subject: [{ CN: [content.name] }],
      issuer: [{ CN: [content.issuer] }],
      notBefore: new Date(content.now.getTime() - EARLIER_MS),
      notAfter: new Date(content.end),
      signingAlgorithm: ECDSA,
      publicKey: keys.publicKey,
      signingKey: content.signingKey,
      extensions: content.extensions,
    },
    webcrypto,
  );
  const key = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  return {
    cert: `${certificate.toString('pem')}\n`,
    key: createPrivateKey({ key: Buffer.from(key), format: 'der', type: 'pkcs8' })
      .export({ type: 'pkcs8', format: 'pem' })
      .toString(),
  };
}

/** Issues certificates for tests. */
import { generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto';
import { isIPv4 } from 'node:net';

/** A private key and its certificate, in PEM. */
export interface Certificate {
  key: string;
  cert: string;
}

/** A certificate authority (CA). */
export interface Authority {
  cert: string;
  /** Issues a certificate for servers and clients with these names, DNS or IPv4. */
  issue(...names: string[]): Certificate;
  /** Issues a certificate with these DNS names and a common name that is not a DNS name. */
  issueTo(commonName: string, ...names: string[]): Certificate;
}

/** Creates a self-signed certificate for these names, valid from 2020 to 2049. Encodes it itself, because Node.js can only read certificates. */
export function selfSigned(...names: string[]): Certificate {
  const { publicKey, privateKey } = newKey();
  // A unique subject: OpenSSL finds a trusted certificate by it, and confuses two with the same subject.
  const subject = `${names[0]!} ${randomBytes(4).toString('hex')}`;
  return pair(privateKey, certificate({ subject, issuer: subject, publicKey, signer: privateKey, names }));
}

/**
 * Creates a CA with a self-signed certificate. Two CAs of the same name differ by their keys.
 * @param validForDays how long the issued certificates are valid; until 2049 by default
 * @param ownDays how long the CA's own certificate is valid; until 2049 by default
 */
export function createAuthority(name: string, validForDays?: number, ownDays?: number): Authority {
  const own = newKey();
  const issueTo = (subject: string, ...names: string[]) => {
    const { publicKey, privateKey } = newKey();
    return pair(privateKey, certificate({ subject, issuer: name, publicKey, signer: own.privateKey, names, validForDays }));
  };
  return {
    cert: certificate({
      subject: name,
      issuer: name,
      publicKey: own.publicKey,
      signer: own.privateKey,
      validForDays: ownDays,
    }),
    issue: (...names) => issueTo(names[0]!, ...names),
    issueTo,
  };
}

interface Content {
  subject: string;
  issuer: string;
  publicKey: KeyObject;
  signer: KeyObject;
  /** DNS names or IPv4 addresses. Absent for a CA. */
  names?: string[];
  validForDays?: number | undefined;
}

function certificate({ subject, issuer, publicKey, signer, names, validForDays }: Content): string {
  const ecdsaWithSha256 = sequence(oid('2a8648ce3d040302'));
  const validity = sequence(der(0x17, Buffer.from('200101000000Z')), der(0x17, Buffer.from(end(validForDays))));
  const extension = names
    ? sequence(oid('551d11'), der(0x04, sequence(...names.map(alternative))))
    : sequence(oid('551d13'), der(0x01, Buffer.of(0xff)), der(0x04, sequence(der(0x01, Buffer.of(0xff)))));
  const toSign = sequence(
    der(0xa0, der(0x02, Buffer.of(2))),
    der(0x02, Buffer.concat([Buffer.of(1), randomBytes(8)])),
    ecdsaWithSha256,
    distinguishedName(issuer),
    validity,
    distinguishedName(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(extension)),
  );
  const signature = der(0x03, Buffer.concat([Buffer.of(0), sign('sha256', toSign, signer)]));
  const base64 = sequence(toSign, ecdsaWithSha256, signature).toString('base64');
  return `-----BEGIN CERTIFICATE-----\n${base64.replace(/.{64}(?=.)/g, '$&\n')}\n-----END CERTIFICATE-----\n`;
}

function newKey(): { publicKey: KeyObject; privateKey: KeyObject } {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' });
}

function pair(privateKey: KeyObject, cert: string): Certificate {
  return { key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), cert };
}

function distinguishedName(commonName: string): Buffer {
  return sequence(der(0x31, sequence(oid('550403'), der(0x0c, Buffer.from(commonName)))));
}

function alternative(name: string): Buffer {
  return isIPv4(name) ? der(0x87, Buffer.from(name.split('.').map(Number))) : der(0x82, Buffer.from(name));
}

function oid(hex: string): Buffer {
  return der(0x06, Buffer.from(hex, 'hex'));
}

/** Encodes a DER value: tag, length, content. */
function der(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(tag, ...size), content]);
}

function sequence(...parts: Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

/** Formats the end of the validity as UTCTime. */
function end(days: number | undefined): string {
  if (days === undefined) return '491231235959Z';
  return new Date(Date.now() + days * 86_400_000).toISOString().replace(/^20|[-:T]|\.\d+/g, '');
}

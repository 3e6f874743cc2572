import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';

/** PEM: what a TLS server shows, and what whoever trusts it needs. */
export interface Certificate {
  key: string;
  cert: string;
}

/** A certificate for these names that vouches for itself, valid from 2020 to 2049. Node.js can read certificates, but can't make them. */
export function selfSigned(...names: string[]): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const ecdsaWithSha256 = sequence(der(0x06, Buffer.from('2a8648ce3d040302', 'hex')));
  const commonName = der(0x06, Buffer.from('550403', 'hex'));
  const name = sequence(der(0x31, sequence(commonName, der(0x0c, Buffer.from(names[0]!)))));
  const validity = sequence(der(0x17, Buffer.from('200101000000Z')), der(0x17, Buffer.from('491231235959Z')));
  const subjectAltName = der(0x06, Buffer.from('551d11', 'hex'));
  const alternatives = sequence(...names.map((each) => der(0x82, Buffer.from(each))));
  const extensions = der(0xa3, sequence(sequence(subjectAltName, der(0x04, alternatives))));
  const toSign = sequence(
    der(0xa0, der(0x02, Buffer.of(2))),
    der(0x02, Buffer.concat([Buffer.of(1), randomBytes(8)])),
    ecdsaWithSha256,
    name,
    validity,
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    extensions,
  );
  const signature = der(0x03, Buffer.concat([Buffer.of(0), sign('sha256', toSign, privateKey)]));
  const certificate = sequence(toSign, ecdsaWithSha256, signature);
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    cert: `-----BEGIN CERTIFICATE-----\n${certificate.toString('base64').replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`,
  };
}

/** A value of DER: tag, length, content. */
function der(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(tag, ...size), content]);
}

function sequence(...parts: Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

/**
 * Addresses that our requests to URLs of clients and providers must never reach, by special-purpose range. IPv6 forms that embed an IPv4 address are refused
 * even if that address is public.
 */
export const REFUSED_V4 = {
  'this network': ['0.0.0.0', '0.1.2.3', '0.255.255.255'],
  loopback: ['127.0.0.1', '127.0.0.53', '127.255.255.254'],
  private: ['10.0.0.1', '10.255.255.255', '172.16.0.1', '172.31.255.255', '192.168.0.1', '192.168.255.255'],
  'link-local and cloud metadata services': [
    '169.254.0.1',
    '169.254.0.23',
    '169.254.42.42',
    '169.254.169.254',
    '169.254.170.2',
    '192.0.0.192',
  ],
  'Azure WireServer': ['168.63.129.16'],
  'service endpoints of IBM Cloud': ['161.26.0.0', '161.26.255.255', '166.8.0.0', '166.11.255.255'],
  'carrier-grade NAT': ['100.64.0.1', '100.100.2.136', '100.100.100.200', '100.127.255.255'],
  'IETF protocol assignments, 6to4 relay, AS112, AMT': [
    '192.0.0.1',
    '192.88.99.1',
    '192.31.196.1',
    '192.175.48.1',
    '192.52.193.1',
  ],
  benchmarking: ['198.18.0.1', '198.19.255.255'],
  documentation: ['192.0.2.1', '198.51.100.1', '203.0.113.1'],
  multicast: ['224.0.0.1', '239.255.255.255'],
  'reserved and broadcast': ['240.0.0.1', '255.255.255.254', '255.255.255.255'],
};
export const REFUSED_V6 = {
  unspecified: ['::'],
  loopback: ['::1'],
  'link-local': ['fe80::1', 'febf::1'],
  'site-local': ['fec0::1'],
  'unique local and cloud metadata services': [
    'fc00::1',
    'fd00:42::42',
    'fd00:c1::a9fe:a9fe',
    'fd00:ec2::254',
    'fd20:ce::254',
    'fdff::1',
  ],
  multicast: ['ff00::1', 'ff02::1'],
  'IPv4-mapped': ['::ffff:127.0.0.1', '::ffff:10.0.0.1', '::ffff:8.8.8.8'],
  'IPv4-compatible': ['::127.0.0.1', '::10.0.0.1', '::8.8.8.8'],
  'IPv4-translated': ['::ffff:0:127.0.0.1'],
  NAT64: ['64:ff9b::127.0.0.1', '64:ff9b::8.8.8.8', '64:ff9b:1::a00:1'],
  '6to4': ['2002:7f00:1::1', '2002:a00:1::'],
  Teredo: ['2001::1', '2001:0:4136:e378:8000:63bf:3fff:fdd2'],
  'IETF protocol assignments': ['2001:2::1', '2001:10::1', '2001:20::1', '2001:30::1', '2001:3::1', '2001:4:112::1'],
  documentation: ['2001:db8::1', '3fff::1'],
  'discard, segment routing, AS112': ['100::1', '5f00::1', '2620:4f:8000::1'],
  'outside global unicast': ['1::1', '200::1', '4000::1', '8000::1', 'e000::1'],
};
export const flat = (groups: Record<string, string[]>) =>
  Object.entries(groups).flatMap(([kind, all]) => all.map((one) => [kind, one]));

/** Ways to write an IPv4 address as the host of a URL, including some that only some parsers accept: each could bypass a filter. */
export function spellings(address: string): string[] {
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
  const whole = ((a * 256 + b) * 256 + c) * 256 + d;
  const hex = (n: number) => `0x${n.toString(16)}`;
  const octal = (n: number) => `0${n.toString(8)}`;
  const fullwidth = address.replace(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit)));
  return [
    address,
    `${address}.`,
    String(whole),
    hex(whole),
    hex(whole).toUpperCase(),
    octal(whole),
    [a, b, c, d].map(hex).join('.'),
    [a, b, c, d].map(octal).join('.'),
    [a, b, c, d].map((n) => octal(n).padStart(8, '0')).join('.'),
    `${a}.${b}.${c * 256 + d}`,
    `${a}.${(b * 256 + c) * 256 + d}`,
    `${hex(a)}.${octal(b)}.${c * 256 + d}`,
    fullwidth,
    address.replaceAll('.', '。'),
    address.replaceAll('.', '%2e'),
    address.replace(/\d/, (digit) => `%3${digit}`),
    `${address}:443`,
  ];
}

/** Spellings of an IPv6 address, in the brackets of a URL. */
export function spellingsOfV6(address: string): string[] {
  const shortest = new URL(`https://[${address}]`).hostname.slice(1, -1);
  const [head = '', tail] = shortest.split('::');
  const groups = (text = '') => text.split(':').filter((group) => group !== '');
  const missing = tail === undefined ? 0 : 8 - groups(head).length - groups(tail).length;
  const all = [...groups(head), ...Array<string>(missing).fill('0'), ...groups(tail)];
  const words = all.map((group) => Number.parseInt(group, 16));
  const dotted = [words[6]! >> 8, words[6]! & 255, words[7]! >> 8, words[7]! & 255].join('.');
  return [
    address,
    address.toUpperCase(),
    shortest,
    all.join(':'),
    all.map((group) => group.padStart(4, '0')).join(':'),
    [...all.slice(0, 6), dotted].join(':'),
  ].flatMap((one) => [`[${one}]`, `[${one}]:443`, `[${one}%25eth0]`, `[${one}%eth0]`]);
}

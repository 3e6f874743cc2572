import { describe, expect, it } from 'vitest';
import { clientAddress, parseNetworks, widerNetworksOf } from './address.ts';

const TRUSTED = parseNetworks('10.0.0.0/8, 192.0.2.7,fd00::/8, ::1')!;

describe('a list of trusted networks', () => {
  it.each([
    ['10.0.0.0/8', 1],
    ['10.1.2.3', 1],
    ['::1, fd00::/8 ,10.0.0.0/8', 3],
    ['0.0.0.0/0', 1],
    ['::/0', 1],
  ])('%s has %i entries', (text, count) => {
    expect(parseNetworks(text)).toHaveLength(count);
  });

  it.each([
    '',
    ' ',
    ',',
    '10.0.0.0/8,',
    '10.0.0.0/33',
    '::/129',
    '10/8',
    '10',
    '0x0a.0.0.0/8',
    '010.0.0.0/8',
    '10.0.0.0/',
    '10.0.0.0/-1',
    '10.0.0.0/8/8',
    '10.0.0.256',
    'proxy',
    '::ffff:10.0.0.0/104',
  ])('%j is refused, so that a typo does not make the wrong host a trusted proxy', (text) => {
    expect(parseNetworks(text)).toBeUndefined();
  });
});

describe("a client's address", () => {
  it.each([
    ['203.0.113.9', '203.0.113.9'],
    ['::ffff:203.0.113.9', '203.0.113.9'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:DB8:1:2::ffff', '2001:db8:1:2::/64'],
    ['2001:db8:1:3::', '2001:db8:1:3::/64'],
    ['fe80::1%eth0', 'fe80::/64'],
    [undefined, 'unknown'],
  ])('for a direct connection from %s is %s, and X-Forwarded-For is ignored', (peer, address) => {
    for (const forwarded of [undefined, '', '198.51.100.1', '198.51.100.1, 10.0.0.1']) {
      expect(clientAddress(peer, forwarded, TRUSTED)).toBe(address);
      expect(clientAddress(peer, forwarded, [])).toBe(address);
    }
  });

  it.each([
    ['one proxy', '10.0.0.1', '203.0.113.9', '203.0.113.9'],
    ['one proxy, at an IPv4-mapped IPv6 address', '::ffff:10.0.0.1', '203.0.113.9', '203.0.113.9'],
    ['one proxy that is listed by its address', '192.0.2.7', '203.0.113.9', '203.0.113.9'],
    ['a proxy over IPv6', 'fd00::5', '2001:db8::7', '2001:db8::/64'],
    ['several proxies', '10.0.0.1', '203.0.113.9, 10.9.9.9, ::ffff:10.0.0.2, fd00::1', '203.0.113.9'],
    [
      'a proxy, with entries that the client forged on the left',
      '10.0.0.1',
      '198.51.100.1, 10.0.0.5, 203.0.113.9',
      '203.0.113.9',
    ],
    ['several proxies, with forged entries on the left', '10.0.0.1', '10.0.0.9, 203.0.113.9, 10.0.0.2', '203.0.113.9'],
    ['a proxy, with and without white space between entries', '10.0.0.1', '198.51.100.1,\t203.0.113.9 ', '203.0.113.9'],
  ])('behind %s is the rightmost entry that is not a trusted proxy', (_, peer, forwarded, address) => {
    expect(clientAddress(peer, forwarded, TRUSTED)).toBe(address);
  });

  it.each([
    ['is missing', undefined, '10.0.0.1'],
    ['is empty', '', '10.0.0.1'],
    ['lists only proxies', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
    ['ends in garbage', '203.0.113.9, garbage', '10.0.0.1'],
    ['ends in a number that is not an address', '203.0.113.9, 42', '10.0.0.1'],
    ['has garbage before a proxy', '203.0.113.9, garbage, 10.0.0.2', '10.0.0.2'],
    ['ends in a comma', '203.0.113.9,', '10.0.0.1'],
  ])('behind a proxy whose X-Forwarded-For %s is that of the farthest trusted proxy', (_, forwarded, address) => {
    expect(clientAddress('10.0.0.1', forwarded, TRUSTED)).toBe(address);
  });
});

describe('the wider networks to charge', () => {
  it('for an IPv6 address are its /56 and its /48', () => {
    expect(widerNetworksOf(clientAddress('2001:db8:1:23ff:4::5', undefined, []))).toEqual([
      { network: '2001:db8:1:2300::/56', times: 4 },
      { network: '2001:db8:1::/48', times: 16 },
    ]);
  });

  it.each(['203.0.113.9', '::ffff:203.0.113.9', undefined])('for %s are empty', (peer) => {
    expect(widerNetworksOf(clientAddress(peer, undefined, []))).toEqual([]);
  });
});

import { describe, expect, test } from 'vitest';
import {
  allowedFields,
  assertionIssuers,
  clientHosts,
  domains,
  duration,
  limit,
  oidcIssuer,
  onOff,
  organizationId,
  rateLimit,
  scopes,
} from '../src/arguments.ts';

describe('the argument for a duration', () => {
  test.each([
    ['1s', 1],
    ['15m', 900],
    ['12h', 43_200],
    ['90d', 7_776_000],
    ['36525d', 3_155_760_000],
  ])('reads %s as %i seconds', (text, seconds) => expect(duration(text)).toBe(seconds));

  test.each(['', '90', 'd', '0d', '01d', '-1d', '1.5h', '1 d', '1D', '1y', '36526d', '99999999999s', '1d1h'])(
    'refuses %j',
    (text) => expect(() => duration(text)).toThrow('like 90d'),
  );
});

describe('the argument for a rate limit', () => {
  test('has the form requests/seconds', () => expect(rateLimit('600/60')).toEqual({ requests: 600, periodSeconds: 60 }));

  test.each(['', '600', '600/', '/60', '0/60', '600/0', '600/60/1', '6e2/60', ' 600/60', '4294967296/60'])('refuses %j', (text) =>
    expect(() => rateLimit(text)).toThrow('like 600/60'),
  );
});

describe('the argument for allowed fields', () => {
  test.each([
    ['default', { default: true, fields: [] }],
    ['none', { default: false, fields: [] }],
    ['summary', { default: false, fields: ['summary'] }],
    ['summary, interviewee.name,summary', { default: false, fields: ['summary', 'interviewee.name'] }],
  ])('may be %j', (text, expected) => expect(allowedFields(text)).toEqual(expected));

  test.each(['', ',', 'summary,', 'default,summary', 'none,none', 'Summary'])('refuses %j', (text) =>
    expect(() => allowedFields(text)).toThrow('commas between'),
  );
});

describe('the arguments for an OpenID provider', () => {
  test.each([
    ['https://login.acme.example/tenant', 'https://login.acme.example/tenant'],
    ['none', ''],
  ])('accept the issuer %j', (text, expected) => expect(oidcIssuer(text)).toBe(expected));

  test.each(['', 'None', 'login.acme.example', 'http://login.acme.example'])('refuse the issuer %j', (text) =>
    expect(() => oidcIssuer(text)).toThrow('https URL'),
  );

  test('accept a list of domains', () => expect(domains('acme.example, b.test')).toEqual(['acme.example', 'b.test']));

  test.each(['', ',', 'acme', 'acme.example,', 'ann@acme.example', 'a b.example'])('refuse the domains %j', (text) =>
    expect(() => domains(text)).toThrow('commas between'),
  );
});

describe('the argument for assertion issuers', () => {
  test.each([
    ['https://acme.example, https://b.test/x', ['https://acme.example', 'https://b.test/x']],
    ['none', []],
  ])('may be %j', (text, issuers) => expect(assertionIssuers(text)).toEqual({ issuers }));

  test.each(['', 'None', 'acme.example', 'https://acme.example,', 'https://acme.example,none'])('refuses %j', (text) =>
    expect(() => assertionIssuers(text)).toThrow('https URLs with commas between'),
  );
});

describe('the argument for client hosts', () => {
  test.each([
    ['none', []],
    ['claude.ai', ['claude.ai']],
    ['claude.ai, localhost:8443', ['claude.ai', 'localhost:8443']],
  ])('may be %j', (text, expected) => expect(clientHosts(text)).toEqual(expected));

  test.each(['', ',', 'claude.ai,', 'https://claude.ai', 'claude.ai/oauth', 'ann@claude.ai', 'claude.ai:', 'a b'])(
    'refuses %j',
    (text) => expect(() => clientHosts(text)).toThrow('commas between'),
  );
});

test('scopes are separated by spaces, and an empty list is refused', () => {
  expect(scopes('calls:read  projects:read ')).toEqual(['calls:read', 'projects:read']);
  for (const none of ['', ' ']) expect(() => scopes(none)).toThrow('like "calls:read');
});

test('a switch is on or off', () => {
  expect(onOff('on')).toBe(true);
  expect(onOff('off')).toBe(false);
  expect(() => onOff('true')).toThrow('on or off');
});

test('an organization id is validated by the command, before it calls a service', () => {
  expect(organizationId('acme-2')).toBe('acme-2');
  for (const bad of ['', 'Acme', '-acme', 'a'.repeat(41), 'acme\n']) expect(() => organizationId(bad)).toThrow('1 to 40');
});

test('a limit is a whole number up to 1000', () => {
  expect(limit('1000')).toBe(1000);
  for (const bad of ['0', '1001', '1.0', 'x']) expect(() => limit(bad)).toThrow('1 to 1000');
});

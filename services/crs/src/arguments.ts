import { ORGANIZATION_ID } from '@crs/kit/text';
import { isRetention } from '@crs/records/retain';
import { InvalidArgumentError } from 'commander';
import { RECORD_TYPES } from './import/route.ts';

/*
 * Parsers of command-line arguments. Each throws InvalidArgumentError, which ends the program with exit code 2. Errors that only a
 * service can find (an unknown field name, an id in use) end it with exit code 1.
 */

export function organizationId(text: string): string {
  if (ORGANIZATION_ID.test(text)) return text;
  throw new InvalidArgumentError('It must be 1 to 40 of a-z, 0-9 and "-", not starting with "-".');
}

export function onOff(text: string): boolean {
  if (text === 'on') return true;
  if (text === 'off') return false;
  throw new InvalidArgumentError('It must be on or off.');
}

/** Parses the allowed fields: `default` (follows the service's default when it changes), `none`, or a list of dotted paths. */
export function allowedFields(text: string): { default: boolean; fields: string[] } {
  if (text === 'default') return { default: true, fields: [] };
  if (text === 'none') return { default: false, fields: [] };
  const fields = commaList(text);
  if (fields.every((field) => /^[a-z_]+(\.[a-z_]+)?$/.test(field) && field !== 'default' && field !== 'none')) {
    return { default: false, fields: [...new Set(fields)] };
  }
  throw new InvalidArgumentError(
    'It must be default, none, or field names with commas between them, like summary,interviewee.name.',
  );
}

/** Parses an issuer. @returns an empty text for `none` */
export function oidcIssuer(text: string): string {
  if (text === 'none') return '';
  if (URL.parse(text)?.protocol === 'https:') return text;
  throw new InvalidArgumentError('It must be an https URL, like https://login.acme.example, or none.');
}

/** Parses issuers of identity assertions. @returns an empty list for `none` */
export function assertionIssuers(text: string): { issuers: string[] } {
  if (text === 'none') return { issuers: [] };
  const issuers = commaList(text);
  if (issuers.every((issuer) => URL.parse(issuer)?.protocol === 'https:')) return { issuers };
  throw new InvalidArgumentError('It must be https URLs with commas between them, like https://acme.okta.com, or none.');
}

/** Parses a list with commas between its items. Rejects an empty text: it may come from an unset variable, and must not mean all. */
export function names(text: string): string[] {
  const named = commaList(text);
  if (named.every((name) => name !== '')) return named;
  throw new InvalidArgumentError('It must be names with commas between them.');
}

export function domains(text: string): string[] {
  const named = commaList(text);
  if (named.every((domain) => /^[^\s@][^\s@.]*\.[^\s@]+$/.test(domain))) return named;
  throw new InvalidArgumentError('It must be domains with commas between them, like acme.example,acme.test.');
}

/** Parses hosts of clients' metadata documents. @returns an empty list for `none` */
export function clientHosts(text: string): string[] {
  if (text === 'none') return [];
  const named = commaList(text);
  if (named.every((host) => /^[^\s/@:]+(:\d+)?$/.test(host))) return named;
  throw new InvalidArgumentError('It must be hosts with commas between them, like claude.ai,chatgpt.com, or none.');
}

/** Parses `600/60`: 600 requests per 60 seconds. */
export function rateLimit(text: string): { requests: number; periodSeconds: number } {
  const [requests, periodSeconds, ...rest] = text.split('/').map(count);
  if (requests && periodSeconds && rest.length === 0) return { requests, periodSeconds };
  throw new InvalidArgumentError('It must be REQUESTS/SECONDS, like 600/60.');
}

export function positiveNumber(text: string): number {
  const records = count(text);
  if (records) return records;
  throw new InvalidArgumentError('It must be a whole number from 1, like 1000.');
}

export function retention(text: string): string {
  if (isRetention(text)) return text;
  throw new InvalidArgumentError('It must be a number of y or d, like 3y or 90d, at most 100y or 99999d, or none.');
}

const SECONDS = { s: 1, m: 60, h: 3_600, d: 86_400 };
const CENTURY = 36_525 * SECONDS.d;

/** Parses `30s`, `15m`, `12h` or `90d`. @returns seconds, from 1 second to 100 years */
export function duration(text: string): number {
  const [, amount = '', unit] = /^(\d+)([smhd])$/.exec(text) ?? [];
  const seconds = (count(amount) ?? 0) * SECONDS[(unit ?? 's') as keyof typeof SECONDS];
  if (seconds >= 1 && seconds <= CENTURY) return seconds;
  throw new InvalidArgumentError('It must be a number of s, m, h or d, like 90d, and at most 100 years.');
}

/** Rejects an empty text: it may come from an unset variable, and must not mean all scopes. */
export function scopes(text: string): string[] {
  const named = text.split(/\s+/).filter((scope) => scope !== '');
  if (named.length > 0) return named;
  throw new InvalidArgumentError('It must name scopes with spaces between them, like "calls:read projects:read".');
}

export function limit(text: string): number {
  const entries = count(text);
  if (entries && entries <= 1_000) return entries;
  throw new InvalidArgumentError('It must be a whole number from 1 to 1000.');
}

export function entryId(text: string): number {
  const id = /^\d{1,16}$/.test(text) ? Number(text) : NaN;
  if (Number.isSafeInteger(id)) return id;
  throw new InvalidArgumentError('It must be the id of an entry.');
}

export function recordTypes(text: string): string[] {
  const named = commaList(text);
  if (named.every((type) => RECORD_TYPES.has(type))) return named;
  throw new InvalidArgumentError(`It must be some of ${[...RECORD_TYPES.keys()].join(',')}, with commas between them.`);
}

function commaList(text: string): string[] {
  return text.split(',').map((item) => item.trim());
}

/** Parses a whole number from 1 that fits a proto uint32. */
function count(text: string): number | undefined {
  const value = /^[1-9]\d{0,9}$/.test(text) ? Number(text) : 0;
  return value >= 1 && value <= 0xffff_ffff ? value : undefined;
}

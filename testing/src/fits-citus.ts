/** Checks on plain PostgreSQL that Citus would accept a statement. */
import type { SentStatement } from './intercept-statements.ts';

/** Patterns of statements on tenant tables that Citus refuses. */
const REFUSED: [pattern: RegExp, reason: string][] = [
  [
    /^\s*insert\b[^]*\bselect\b(?![^]*\bon conflict\b)/i,
    'an insert of the rows of a query into a table with row-level security, without `on conflict`',
  ],
  [/\bnot in \(\s*select\b/i, '`not in` with a subquery of several columns; `not exists` is the same'],
  [
    /^(?=\s*(with\b[^]*)?\bupdate\b)[^]*\bcoalesce\([^()]*\b(now|clock_timestamp)\(\)/i,
    'a function of the time in `coalesce` in an update; `least` or a parameter is the same',
  ],
  [
    /^(?=\s*(with\b[^]*)?\bupdate\b)[^]*\bset\b[^]*\bcase\b[^]*\b(now|clock_timestamp)\(\)[^]*\bend\b/i,
    'a function of the time in `case` in an update',
  ],
  [
    /^(?=\s*(with\b[^]*)?\bupdate\b)[^]*\b(gen_random_uuid|random|clock_timestamp)\(\)/i,
    'a volatile function in an update; a parameter is the same',
  ],
  [
    /^(?=\s*(with\b[^]*)?\bupdate\b)[^]*\bjsonb_(build_object|build_array|agg)\([^()]*[a-z]/i,
    'a stable function of a column in an update',
  ],
  [/\bupdate\b[^]*\breturning\b(?![^]*\bselect\b)[^]*\b(now|clock_timestamp)\(\)/i, 'a function of the time in `returning`'],
  [
    /set_config\('app\.organization_id'/i,
    'an organization that is set by `set_config`, which Citus does not pass on to its nodes',
  ],
];
/** Local tables of the coordinator, whose statements plain PostgreSQL runs. */
const ABOVE_TENANTS =
  /\b(webhooks\.due|calls\.feed_heads|auth\.(programs|key_directory|scim_token_directory|domain_directory|assertion_issuers|caller_keys|token_keys|retired_keys|operators|clients|oidc_payloads|throttles))\b/;

/** @throws Error if Citus would refuse the statement */
export function fitsCitus(statement: SentStatement): SentStatement {
  const { text } = statement;
  if (ABOVE_TENANTS.test(text)) return statement;
  const [, reason] = REFUSED.find(([pattern]) => pattern.test(text)) ?? [];
  if (reason !== undefined) throw new Error(`Citus refuses ${reason}: ${text}`);
  return statement;
}

import { readdirSync, readFileSync } from 'node:fs';

/** The text without its predicates on the organization. PostgreSQL still needs the parameter's type. */
export const withoutPredicates = (text: string) =>
  text.replaceAll(/("?\w+"?\.)?"?organization"? = (\$\d+)\b/g, (_match, _table, value) => `(${value}::text is not null)`);

/** The names of the statements in the files of a service's store that name one of the tables, as patterns. */
export function declaredStatements(service: string, tables: { name: string }[]): RegExp[] {
  const store = new URL(`../../services/${service}/src/store/`, import.meta.url);
  const sources = readdirSync(store)
    .map((file) => readFileSync(new URL(file, store), 'utf8'))
    .filter((source) => tables.some(({ name }) => source.includes(name)));
  // A statement may choose among names: `name: after ? 'list_after' : 'list',`
  const expressions = sources.flatMap((source) => source.match(/\bname: [^,\n]*['`][^,\n]*|\btoStatement\('\w+'/g) ?? []);
  const names = expressions.flatMap((expression) => [...expression.matchAll(/['`]([\w${}]+)['`]/g)].map(([, name]) => name!));
  return names.map((name) => new RegExp(`^${name.replaceAll(/\$\{\w+\}/g, '\\w+')}$`));
}

import { readdirSync, readFileSync } from 'node:fs';
import { interceptStatements } from './intercept-statements.ts';

/** Removes the predicates on the organization from a service's statements, so that only row-level security isolates tenants. */
export interface StrippedStatements {
  /** The statements on tables of the schema that were sent, and whether a predicate was removed from each. */
  sent: Map<string, boolean>;
  stop(): void;
}

/** Removes the predicates from the statements of all services in this process, until `stop` is called. */
export function withoutPredicates(schema: string): StrippedStatements {
  const sent = new Map<string, boolean>();
  // Except the table of migrations, which has no tenant rows.
  const table = new RegExp(`\\b${schema}\\.(?!migrations\\b)\\w`);
  const stop = interceptStatements((statement) => {
    const { name = 'unnamed', text } = statement;
    if (!table.test(text)) return statement;
    const rewritten = text.replaceAll(/(\w+\.)?organization = \$1\b/g, () => '($1::text is not null)');
    sent.set(exportOf(text) ?? name, rewritten !== text);
    return { ...statement, text: rewritten };
  });
  return { sent, stop };
}

/** Returns a name for an export's statement, which has none: that of the table that it reads. */
function exportOf(text: string): string | undefined {
  const [, table] = /^declare export_page [^]* from \w+\.(\w+)/.exec(text) ?? [];
  return table && `export_${table.replace('billing_', '')}`;
}

/** Returns the names of all statements declared in a service's `store/`. */
export function declaredStatements(store: URL): string[] {
  const sources = readdirSync(store).map((file) => readFileSync(new URL(file, store), 'utf8'));
  // A statement may choose between names: `name: after ? 'list_after' : 'list',`
  const choices = sources.flatMap((source) => source.match(/\bname: [^,\n]*'\w+'/g) ?? []);
  return choices.flatMap((choice) => [...choice.matchAll(/'(\w+)'/g)].map(([, name]) => name!));
}

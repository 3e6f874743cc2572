import { readdirSync, readFileSync } from 'node:fs';
import { interceptStatements } from './intercept-statements.ts';

/** The statements of a service without their predicates on the organization, so that row-level security alone keeps tenants apart. */
export interface StrippedStatements {
  /** The statements on tables of the schema that were sent, and whether a predicate was taken out of them. */
  sent: Map<string, boolean>;
  stop(): void;
}

/** Takes the predicates out of the statements of all services in this process, until `stop`. */
export function withoutPredicates(schema: string): StrippedStatements {
  const sent = new Map<string, boolean>();
  // The table of migrations is left out: it holds no rows of tenants.
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

/** The name of an export's statement, which is sent without one. It reads one table, whose name the statement has, too. */
function exportOf(text: string): string | undefined {
  const [, table] = /^declare export_page [^]* from \w+\.(\w+)/.exec(text) ?? [];
  return table && `export_${table.replace('billing_', '')}`;
}

/** Names of all statements that a service's `store/` declares. */
export function declaredStatements(store: URL): string[] {
  const sources = readdirSync(store).map((file) => readFileSync(new URL(file, store), 'utf8'));
  // A statement may choose among names: `name: after ? 'list_after' : 'list',`
  const choices = sources.flatMap((source) => source.match(/\bname: [^,\n]*'\w+'/g) ?? []);
  return choices.flatMap((choice) => [...choice.matchAll(/'(\w+)'/g)].map(([, name]) => name!));
}

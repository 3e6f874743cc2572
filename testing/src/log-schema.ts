/** Validates log lines against the published schema. */
import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

/** The published schema of log lines. */
export const LOG_SCHEMA = JSON.parse(readFileSync(new URL('../../docs/log.schema.json', import.meta.url), 'utf8')) as {
  $defs: Record<string, { properties: Record<string, { const?: string }> }>;
};

const ajv = new Ajv2020({ allErrors: true, strict: true, strictRequired: false, allowUnionTypes: true });
addFormats.default(ajv);
ajv.addSchema(LOG_SCHEMA, 'log');

const checks = Object.entries(LOG_SCHEMA.$defs)
  .filter(([, { properties }]) => properties?.['msg'] !== undefined)
  .map(([name, { properties }]) => ({ msg: properties['msg']!.const, check: ajv.getSchema(`log#/$defs/${name}`)! }));

/** Validates log lines against the schema, each as the kind of line that its message identifies. @returns the problems */
export function logProblems(lines: string[]): string[] {
  return lines.flatMap((line) => {
    const entry = JSON.parse(line) as { msg?: string };
    const { check } = checks.find(({ msg }) => msg === entry.msg) ?? checks.find(({ msg }) => msg === undefined)!;
    return check(entry) ? [] : [`${ajv.errorsText(check.errors)}: ${line}`];
  });
}

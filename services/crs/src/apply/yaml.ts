import { Document, visit } from 'yaml';
import { CONTROLS, escapeControls } from '../output.ts';

/** Formats a value as YAML that readers of YAML 1.1, such as Helm, understand the same way, and that can't control a terminal. */
export function toYaml(value: object): string {
  const document = new Document(value, { compat: 'yaml-1.1' });
  visit(document, {
    Scalar: (_key, scalar) => {
      // Only this style has escapes.
      if (typeof scalar.value === 'string' && scalar.value.search(CONTROLS) >= 0) scalar.type = 'QUOTE_DOUBLE';
    },
  });
  const lines = document.toString({ lineWidth: 0 }).trimEnd().split('\n');
  return lines.map(escapeControls).join('\n');
}

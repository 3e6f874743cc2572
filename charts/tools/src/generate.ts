// Writes a chart's values.schema.json from its values.yaml.
import { readFile, writeFile } from 'node:fs/promises';
import { isMap, isScalar, isSeq, LineCounter, parseDocument, type Node, type Pair, type YAMLMap } from 'yaml';
import { DEFINITIONS, type Schema } from './definitions.ts';

const ROOT = new URL('../../', import.meta.url);
export const CHARTS = ['call-research', 'backends'];

/** Reads the comment directly above a key. */
function readComment(lines: string[], keyLine: number): { prose: string; annotation: Schema } {
  const comment: string[] = [];
  for (let at = keyLine - 1; at >= 0 && /^\s*#/.test(lines[at]!); at -= 1) comment.unshift(lines[at]!.replace(/^\s*# ?/, ''));
  const annotations = comment.filter((line) => line.startsWith('@schema ')).map((line) => line.slice('@schema '.length));
  const prose = comment.filter((line) => !line.startsWith('@schema '));
  return {
    prose: prose.join('\n').replace(/^-- /, ''),
    annotation: Object.assign({}, ...annotations.map((text) => JSON.parse(text) as Schema)) as Schema,
  };
}

class Reader {
  readonly #text: string;
  readonly #lines: string[];
  readonly #counter = new LineCounter();

  constructor(text: string) {
    this.#text = text;
    this.#lines = text.split('\n');
  }

  read(): Schema {
    const document = parseDocument(this.#text, { lineCounter: this.#counter });
    if (document.errors.length > 0 || !isMap(document.contents))
      throw new Error(`values.yaml can't be read: ${document.errors[0]}`);
    return this.#object(document.contents as YAMLMap<Node, Node>, '');
  }

  #object(map: YAMLMap<Node, Node>, prefix: string): Schema {
    const properties = map.items.map((pair) => [String(pair.key), this.#property(pair, prefix)] as const);
    return { type: 'object', additionalProperties: false, properties: Object.fromEntries(properties) };
  }

  #property({ key, value }: Pair<Node, Node>, prefix: string): Schema {
    const path = `${prefix}${String(key)}`;
    const { prose, annotation } = readComment(this.#lines, this.#counter.linePos(key.range![0]).line - 1);
    const isGroup = isMap(value) && value.items.length > 0 && !annotation['$ref'];
    if (annotation['$ref']) return annotation;
    if (isGroup) return this.#object(value as YAMLMap<Node, Node>, `${path}.`);
    const schema: Schema = { type: typeOf(value), ...(prose && { description: flow(prose) }), ...annotation };
    if (schema['type'] === 'null') throw new Error(`${path}: say in @schema what type it may have`);
    if (isMap(value) && !annotation['additionalProperties']) throw new Error(`${path}: say in @schema what may be in it`);
    if (isSeq(value) && !annotation['items']) throw new Error(`${path}: say in @schema what its items are`);
    return schema;
  }
}

function typeOf(value: Node | null): string {
  if (isMap(value)) return 'object';
  if (isSeq(value)) return 'array';
  const plain = isScalar(value) ? value.value : null;
  if (typeof plain === 'number') return Number.isInteger(plain) ? 'integer' : 'number';
  return plain === null ? 'null' : typeof plain;
}

/** Joins the prose to one line, without examples. */
function flow(prose: string): string {
  return prose
    .replace(/For example\n```[^]*?```/, '')
    .replaceAll('\n', ' ')
    .trim();
}

function writeSchema(schema: Schema): string {
  const text = JSON.stringify(schema);
  const used = (name: string) => text.includes(`"#/definitions/${name}"`);
  const wanted = Object.entries(DEFINITIONS).filter(([name]) => used(name));
  const definitions = Object.fromEntries(wanted);
  const own = schema['properties'] as { [key: string]: Schema };
  // Helm adds it to a subchart, with the keys of all charts.
  const global = { type: 'object', ...own['global'], additionalProperties: true };
  // For a parent chart: the `condition` of a dependency, and places for YAML anchors.
  const properties = { ...own, global, enabled: { type: 'boolean' } };
  const patternProperties = { '^x-': {} };
  const $schema = 'http://json-schema.org/draft-07/schema#';
  return `${JSON.stringify({ $schema, ...schema, properties, patternProperties, definitions }, null, 2)}\n`;
}

/** Returns the path of a chart's schema, and the schema. */
export async function generate(chart: string): Promise<[path: string, text: string]> {
  const file = (name: string) => new URL(`${chart}/${name}`, ROOT).pathname;
  const reader = new Reader(await readFile(file('values.yaml'), 'utf8'));
  return [file('values.schema.json'), writeSchema(reader.read())];
}

if (import.meta.main) {
  for (const chart of CHARTS) await writeFile(...(await generate(chart)));
}

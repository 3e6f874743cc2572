// Writes a chart's values.schema.json, and the list of values in its README.md, from its values.yaml.
import { readFile, writeFile } from 'node:fs/promises';
import { isMap, isScalar, isSeq, LineCounter, parseDocument, type Node, type Pair, type YAMLMap } from 'yaml';
import { DEFINITIONS, type Schema } from './definitions.ts';

const ROOT = new URL('../../', import.meta.url);
export const CHARTS = ['call-research', 'backends'];
const BEGIN = '<!-- prettier-ignore-start -->';
const END = '<!-- prettier-ignore-end -->';

interface Value {
  /** Such as `redis.key`. */
  path: string;
  /** The comment's prose, without the `--` that precedes the prose of a leaf. */
  prose: string;
  default: unknown;
}

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
  readonly values: Value[] = [];
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
    this.values.push({ path, prose, default: isGroup ? undefined : value?.toJSON() });
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
  const properties = { ...own, global: { type: 'object', ...own['global'], additionalProperties: true } };
  return `${JSON.stringify({ $schema: 'http://json-schema.org/draft-07/schema#', ...schema, properties, definitions }, null, 2)}\n`;
}

/** Leaves out values whose names explain them. */
function writeList(values: Value[]): string {
  return values
    .filter(({ prose }) => prose)
    .map(({ path, prose, default: value }) =>
      value === undefined ? `- **\`${path}\`**: ${flow(prose)}` : `- \`${path}\` (\`${JSON.stringify(value)}\`): ${flow(prose)}`,
    )
    .join('\n');
}

/** Returns the two generated files of a chart, by path. */
export async function generate(chart: string): Promise<Map<string, string>> {
  const file = (name: string) => new URL(`${chart}/${name}`, ROOT).pathname;
  const reader = new Reader(await readFile(file('values.yaml'), 'utf8'));
  const schema = writeSchema(reader.read());
  const readme = await readFile(file('README.md'), 'utf8');
  const [head, rest] = readme.split(BEGIN);
  const tail = rest?.split(END)[1];
  if (tail === undefined) throw new Error(`${file('README.md')} has no place for the values`);
  return new Map([
    [file('values.schema.json'), schema],
    [file('README.md'), `${head}${BEGIN}\n\n${writeList(reader.values)}\n\n${END}${tail}`],
  ]);
}

if (import.meta.main) {
  for (const chart of CHARTS) for (const [path, text] of await generate(chart)) await writeFile(path, text);
}

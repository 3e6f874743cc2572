import { createReadStream } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { ORGANIZATION_ID } from '@crs/kit/text';
import { Alias, isMap, isNode, isSeq, LineCounter, parseDocument, visit, type Document, type Tags } from 'yaml';
import { Failure } from '../failure.ts';

/** An organization of a file of `crs apply`. */
export interface TenantEntry {
  id: string;
  /** The entry in JSON, which the service validates. */
  json: Buffer;
  /** The content of `oidc.client_secret_file`. */
  clientSecret: string | undefined;
  /** Names a field of the entry, with its position: `tenants.yaml:3:5: organizations[0].name`. */
  locate: (field: string) => string;
}

const MAX_FILE_BYTES = 8 * 1024 * 1024;
/** More than a client secret has. */
const MAX_SECRET_BYTES = 64 * 1024;

/** @param path a YAML or JSON file, or - for standard input @throws Failure that names the position */
export async function readTenants(path: string): Promise<TenantEntry[]> {
  const name = path === '-' ? 'standard input' : path;
  const file = new TenantFile(name, await readText(path, name));
  const directory = path === '-' ? process.cwd() : dirname(path);
  const entries: TenantEntry[] = [];
  for (const [index, value] of file.organizations().entries()) {
    const locate = (field: string) => file.locate(['organizations', index, ...stepsOf(field)]);
    const { id, oidc } = value;
    if (typeof id !== 'string' || !ORGANIZATION_ID.test(id))
      throw invalid(`${locate('id')}: must be 1 to 40 of a-z, 0-9 and "-", not starting with "-"`);
    if (entries.some((other) => other.id === id)) throw invalid(`${locate('id')}: is in the file twice`);
    const secretFile = oidc?.client_secret_file;
    const clientSecret =
      typeof secretFile === 'string'
        ? await readSecretFile(resolve(directory, secretFile), locate('oidc.client_secret_file'))
        : undefined;
    entries.push({ id, json: Buffer.from(JSON.stringify(value)), clientSecret, locate });
  }
  return entries;
}

/** What this program reads of an entry. The service checks the rest. */
interface RawEntry {
  id?: unknown;
  oidc?: { client_secret_file?: unknown } | null;
}

/** Texts for `.nan` and `.inf`, which JSON doesn't have: it would turn them into null, which keeps a setting. */
const finiteNumbers = (tags: Tags): Tags =>
  tags.filter((tag) => typeof tag === 'string' || tag.tag !== 'tag:yaml.org,2002:float' || !tag.test?.test('.nan'));

class TenantFile {
  readonly #name: string;
  readonly #lines = new LineCounter();
  readonly #document: Document;

  /** @throws Failure if the text isn't one YAML document without aliases and custom tags */
  constructor(name: string, text: string) {
    this.#name = name;
    this.#document = parseDocument(text, { lineCounter: this.#lines, customTags: finiteNumbers, prettyErrors: false });
    const [problem] = [...this.#document.errors, ...this.#document.warnings];
    if (problem) throw invalid(`${this.#position(problem.pos[0])}: ${sentence(problem.message)}`);
    visit(this.#document, {
      // A few lines of aliases can stand for billions of values.
      Alias: (_key, alias: Alias) => {
        throw invalid(`${this.#position(alias.range?.[0] ?? 0)}: aliases are not allowed`);
      },
    });
  }

  organizations(): RawEntry[] {
    const { contents } = this.#document;
    const list = isMap(contents) ? contents.get('organizations') : undefined;
    if (!isMap(contents) || !isSeq(list)) throw invalid(`${this.locate([])}: must have a list "organizations"`);
    const other = contents.items.find(({ key }) => String(key) !== 'organizations');
    if (other) throw invalid(`${this.locate([String(other.key)])}: is not a known property. Known: organizations.`);
    const notMap = list.items.findIndex((item) => !isMap(item));
    if (notMap >= 0) throw invalid(`${this.locate(['organizations', notMap])}: must be an object`);
    return (this.#document.toJS() as { organizations: RawEntry[] }).organizations;
  }

  /** Names a field, with its position or that of the innermost part of the path that exists. */
  locate(path: (string | number)[]): string {
    const field = path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`)).join('').slice(1); // prettier-ignore
    for (let length = path.length; length >= 0; length--) {
      const node = this.#document.getIn(path.slice(0, length), true);
      if (isNode(node) && node.range) return `${this.#position(node.range[0])}${field && `: ${field}`}`;
    }
    return `${this.#position(0)}${field && `: ${field}`}`;
  }

  #position(offset: number): string {
    const { line, col } = this.#lines.linePos(offset);
    return `${this.#name}:${line}:${col}`;
  }
}

/** Parses a path such as `keys[1].sha256`. */
function stepsOf(field: string): (string | number)[] {
  const steps = field.matchAll(/\[(\d+)\]|([^.[\]]+)/g);
  return [...steps].map(([, index, name]) => (index === undefined ? name! : Number(index)));
}

async function readSecretFile(path: string, field: string): Promise<string> {
  const secret = (await readText(path, `${field}: ${basename(path)}`, MAX_SECRET_BYTES)).replace(/\r?\n$/, '');
  if (secret === '') throw invalid(`${field}: the file is empty`);
  return secret;
}

/** @param name for errors */
async function readText(path: string, name: string, maxBytes = MAX_FILE_BYTES): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of path === '-' ? process.stdin : createReadStream(path)) {
      bytes += (chunk as Buffer).length;
      if (bytes > maxBytes) throw invalid(`${name}: must have at most ${maxBytes} bytes`);
      chunks.push(chunk as Buffer);
    }
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
  } catch (error) {
    if (error instanceof Failure) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA') throw invalid(`${name}: must be valid UTF-8`);
    throw new Failure('file', `${name} can't be read (${code}).`, error);
  }
}

function invalid(message: string): Failure {
  return new Failure('invalid_argument', message.endsWith('.') ? message : `${message}.`);
}

/** Without the end, which may quote the file. */
function sentence(message: string): string {
  return message.split('\n')[0]!.replace(/[.:]$/, '');
}

import stringWidth from 'string-width';

/** Options of every command. */
export interface OutputOptions {
  json?: true;
}

/** Prints a result: with `--json` exactly one line with a JSON object, otherwise a text for people, by default the same values in rows. */
export function show(options: OutputOptions, value: object, text: () => string = () => layOut(value)): void {
  process.stdout.write(`${options.json ? escapeControls(JSON.stringify(value)) : text()}\n`);
}

/** Prints an error on standard error, as one line. */
export function showError(json: boolean, error: { code: string; message: string }): void {
  process.stderr.write(json ? `${escapeControls(JSON.stringify({ error }))}\n` : `error: ${printable(error.message)}\n`);
}

/** The JSON form of a message: names in snake case, and null for what isn't set. */
export function toJson(message: object): Record<string, unknown> {
  const json: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(message)) {
    json[name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)] = isNested(value) ? toJson(value) : (value ?? null);
  }
  return json;
}

/** Lays out a JSON object for people: a list as a table, a single object as names and values. */
export function layOut(value: object): string {
  if (!('data' in value)) return details(rowsOf(value));
  const rows = value.data as Record<string, Cell>[];
  return table(
    Object.keys(rows[0] ?? {}).map(label),
    rows.map((row) => Object.values(row)),
  );
}

/** Lays out a new object, with a note that no later command shows its `secret`. */
export function layOutWithSecret(value: object, secret: string): string {
  return `${layOut(value)}\n\nThis is the only time that the ${secret} is shown: keep it in a safe place now.`;
}

function rowsOf(value: object, prefix = ''): Cell[][] {
  return Object.entries(value).flatMap(([name, inner]): Cell[][] => {
    if (isNested(inner)) return rowsOf(inner, `${label(name)} `);
    return inner === undefined ? [] : [[prefix + label(name), inner]];
  });
}

function isNested(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

function label(name: string): string {
  return name.replaceAll('_', ' ');
}

type Cell = string | number | boolean | Date | readonly string[] | null | undefined;

const GAP = 2;

/** Lays out columns under upper-case heads. Without rows, says so. */
export function table(head: string[], rows: Cell[][]): string {
  if (rows.length === 0) return 'None.';
  return details([head.map((name) => name.toUpperCase()), ...rows]);
}

/** Lays out rows in columns, such as the names and values of an object. */
export function details(rows: Cell[][]): string {
  const cells = rows.map((row) => row.map(cell).map((text) => ({ text, width: stringWidth(text) })));
  const widths: number[] = [];
  for (const row of cells) row.forEach(({ width }, column) => (widths[column] = Math.max(widths[column] ?? 0, width)));
  const lines = cells.map((row) => row.map(({ text, width }, column) => text + ' '.repeat(widths[column]! - width + GAP)));
  return lines.map((parts) => parts.join('').trimEnd()).join('\n');
}

function cell(value: Cell): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  const text = value instanceof Date ? value.toISOString() : String(value ?? '');
  return printable(text) || '-';
}

/**
 * Characters by which untrusted text could control the terminal, forge a line or reorder it: C0 and C1 controls, bidirectional controls, line and
 * paragraph separators, deprecated format characters and interlinear annotations. All are in the basic plane.
 */
export const CONTROLS = /[\p{Cc}\p{Bidi_Control}\u2028\u2029\u206A-\u206F\uFFF9-\uFFFB]/gu;

/** Replaces the characters of untrusted text that could control the terminal. */
export function printable(text: string): string {
  return text.replaceAll(CONTROLS, '\uFFFD');
}

/** Escapes the same characters in one line of JSON. It stays the same JSON, because outside strings it has none of them. */
export function escapeControls(json: string): string {
  return json.replaceAll(CONTROLS, (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Formats a timestamp in UTC, like `2026-01-31T12:00:00.000Z`. */
export function timestamp(date: Date | undefined): string | null {
  return date ? date.toISOString() : null;
}

import stringWidth from 'string-width';

/** Options of every command. */
export interface OutputOptions {
  json?: true;
}

/** Prints a result: exactly one JSON object on a line for programs, or the text for people. */
export function show(options: OutputOptions, value: object, text: () => string): void {
  process.stdout.write(`${options.json ? escapeControls(JSON.stringify(value)) : text()}\n`);
}

/** Prints an error on standard error, as one line. */
export function showError(json: boolean, error: { code: string; message: string }): void {
  process.stderr.write(json ? `${escapeControls(JSON.stringify({ error }))}\n` : `error: ${printable(error.message)}\n`);
}

type Cell = string | number | boolean | null;

const GAP = 2;

/** Lays out columns under upper-case heads. Without rows, says so. */
export function table(head: string[], rows: Cell[][]): string {
  if (rows.length === 0) return 'None.';
  return details([head.map((name) => name.toUpperCase()), ...rows]);
}

/** Lays out a new thing whose `secret` no later command shows. */
export function detailsOnce(secret: string, rows: Cell[][]): string {
  return `${details(rows)}\n\nThis is the only time that the ${secret} is shown: keep it in a safe place now.`;
}

/** Lays out rows in columns, such as the names and values of one thing. */
export function details(rows: Cell[][]): string {
  const cells = rows.map((row) => row.map(cell).map((text) => ({ text, width: stringWidth(text) })));
  const widths: number[] = [];
  for (const row of cells) row.forEach(({ width }, column) => (widths[column] = Math.max(widths[column] ?? 0, width)));
  const lines = cells.map((row) => row.map(({ text, width }, column) => text + ' '.repeat(widths[column]! - width + GAP)));
  return lines.map((parts) => parts.join('').trimEnd()).join('\n');
}

function cell(value: Cell): string {
  if (value === null || value === '') return '-';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return printable(String(value));
}

/**
 * Characters by which untrusted text could control the terminal, forge a line or reorder it: C0 and C1 controls, bidirectional controls, line and
 * paragraph separators, deprecated format characters and interlinear annotations. All are in the basic plane.
 */
const CONTROLS = /[\p{Cc}\p{Bidi_Control}\u2028\u2029\u206A-\u206F\uFFF9-\uFFFB]/gu;

/** Replaces the characters of untrusted text that could control the terminal. */
export function printable(text: string): string {
  return text.replaceAll(CONTROLS, '\uFFFD');
}

/** Escapes the same characters in one line of JSON. It stays the same JSON, because outside strings it has none of them. */
export function escapeControls(json: string): string {
  return json.replaceAll(CONTROLS, (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Formats an instant in UTC, like `2026-01-31T12:00:00.000Z`. */
export function instant(date: Date | undefined): string | null {
  return date ? date.toISOString() : null;
}

import Table from 'cli-table3';

/** What every command takes. */
export interface OutputOptions {
  json?: true;
}

/** Prints a result: exactly one JSON object on a line for programs, or the text for people. */
export function show(options: OutputOptions, value: object, text: () => string): void {
  process.stdout.write(`${options.json ? JSON.stringify(value) : text()}\n`);
}

/** Prints an error on standard error, as one line. */
export function showError(json: boolean, error: { code: string; message: string }): void {
  process.stderr.write(json ? `${JSON.stringify({ error })}\n` : `error: ${printable(error.message)}\n`);
}

type Cell = string | number | boolean | null;

const BORDERLESS = Object.fromEntries(
  ['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right']
    .concat(['left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid', 'middle'])
    .map((name) => [name, '']),
);

/** Columns under upper-case heads, or one sentence where there are no rows. */
export function table(head: string[], rows: Cell[][]): string {
  if (rows.length === 0) return 'None.';
  return render([head.map((name) => name.toUpperCase()), ...rows]);
}

/** Names and values of one thing, one a line. */
export function details(rows: [name: string, value: Cell][]): string {
  return render(rows);
}

function render(rows: Cell[][]): string {
  const style = { 'padding-left': 0, 'padding-right': 2, head: [], border: [], compact: true };
  const columns = new Table({ chars: BORDERLESS, style });
  for (const row of rows) columns.push(row.map(cell));
  return columns.toString().replaceAll(/ +$/gm, '');
}

function cell(value: Cell): string {
  if (value === null || value === '') return '-';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return printable(String(value));
}

/** Text that can't move the cursor or forge a line of the terminal, whoever wrote it. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu, '\uFFFD');
}

/** An instant as it is shown everywhere, or null. */
export function instant(date: Date | undefined): string | null {
  return date ? date.toISOString() : null;
}

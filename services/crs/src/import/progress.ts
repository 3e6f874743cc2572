import type { Progress } from './run.ts';

/** What is seen of an import while it runs, on standard error. */
export interface Display {
  readonly update: (progress: Readonly<Progress>) => void;
  /** Prints a line above the progress. */
  readonly print: (line: string) => void;
  readonly stop: () => void;
}

const CLEAR_LINE = '\r\u001b[2K';

/**
 * Progress on a terminal, nothing but printed lines elsewhere.
 * @param totalBytes size of the file; undefined where nobody knows
 */
export async function display(totalBytes: number | undefined): Promise<Display> {
  if (!process.stderr.isTTY) {
    return { update: () => undefined, print: (line) => process.stderr.write(`${line}\n`), stop: () => undefined };
  }
  const { MultiBar, Presets } = await import('cli-progress');
  const counts = '{stored} stored, {refused} refused, {rate} lines/s';
  // What doesn't fit on the line is cut off, so what counts most comes first.
  const format =
    totalBytes === undefined ? `{duration_formatted} | ${counts}` : `{bar} {percentage}% {eta_formatted} left | ${counts}`;
  // The one kind that lets lines be printed above it. The terminal's own settings stay as they are, and Ctrl-C ends the program.
  const settings = { barsize: 20, etaBuffer: 50, forceRedraw: true, clearOnComplete: true, linewrap: true, gracefulExit: false };
  const bars = new MultiBar({ ...settings, format, stream: process.stderr }, Presets.shades_classic);
  const bar = bars.create(totalBytes ?? 0, 0, { stored: 0, refused: 0, rate: 0 });
  const started = performance.now();
  return {
    update: ({ bytes, accepted, unchanged, refused }) => {
      const stored = accepted + unchanged;
      bar.update(bytes, { stored, refused, rate: Math.round((stored + refused) / ((performance.now() - started) / 1000)) });
    },
    // The bar draws itself anew below.
    print: (line) => process.stderr.write(`${CLEAR_LINE}${line}\n`),
    stop: () => bars.stop(),
  };
}

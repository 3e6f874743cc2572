import type { Progress } from './run.ts';

const CLEAR_LINE = '\r\u001b[2K';

/**
 * Shows an import on standard error: a progress bar on a terminal, with printed lines above it, and only the printed lines elsewhere.
 * @param totalBytes size of the file; undefined if unknown
 */
export async function display(totalBytes: number | undefined) {
  if (!process.stderr.isTTY) {
    return {
      update: () => undefined,
      print: (line: string) => void process.stderr.write(`${line}\n`),
      stop: () => undefined,
    };
  }
  const { MultiBar, Presets } = await import('cli-progress');
  const counts = '{good} good, {refused} refused, {rate} lines/s';
  // The terminal truncates long lines, so the most important figures come first.
  const format =
    totalBytes === undefined ? `{duration_formatted} | ${counts}` : `{bar} {percentage}% {eta_formatted} left | ${counts}`;
  // Only a MultiBar allows lines above it. These options leave the terminal's settings alone, and let Ctrl-C end the program.
  const settings = { barsize: 20, etaBuffer: 50, forceRedraw: true, clearOnComplete: true, linewrap: true, gracefulExit: false };
  const bars = new MultiBar({ ...settings, format, stream: process.stderr }, Presets.shades_classic);
  const bar = bars.create(totalBytes ?? 0, 0, { good: 0, refused: 0, rate: 0 });
  const started = performance.now();
  return {
    update: ({ bytes, accepted, unchanged, refused }: Progress) => {
      const good = accepted + unchanged;
      bar.update(bytes, { good, refused, rate: Math.round((good + refused) / ((performance.now() - started) / 1000)) });
    },
    // The bar redraws itself below.
    print: (line: string) => void process.stderr.write(`${CLEAR_LINE}${line}\n`),
    stop: () => bars.stop(),
  };
}

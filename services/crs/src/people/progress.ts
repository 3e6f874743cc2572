import type { Progress } from '@crs/proto/crs/people/v1/people';

/** Shows on a terminal how many of an organization's calls were read. */
export async function showProgress(): Promise<{ advance: (progress: Progress) => void; stop: () => void }> {
  if (!process.stderr.isTTY) return { advance: () => undefined, stop: () => undefined };
  const { SingleBar, Presets } = await import('cli-progress');
  const format = '{bar} {percentage}% {eta_formatted} left | {value} of {total} calls';
  const settings = { barsize: 20, clearOnComplete: true, gracefulExit: false, format, stream: process.stderr };
  const bar = new SingleBar(settings, Presets.shades_classic);
  bar.start(0, 0);
  return {
    advance: ({ read, total }) => {
      bar.setTotal(total);
      bar.increment(read);
    },
    stop: () => bar.stop(),
  };
}

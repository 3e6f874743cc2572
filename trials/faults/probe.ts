// Preloaded into measured processes. At SIGUSR2 the process collects garbage and writes its memory and timers to a file for `askProbe`.
import { renameSync, writeFileSync } from 'node:fs';

process.on('SIGUSR2', () => {
  for (let i = 0; i < 3; i++) globalThis.gc?.();
  const timers = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const file = `${process.env['CRS_TEST_PROBES']}/${process.pid}`;
  writeFileSync(`${file}.new`, JSON.stringify({ ...process.memoryUsage(), timers }));
  renameSync(`${file}.new`, file);
});

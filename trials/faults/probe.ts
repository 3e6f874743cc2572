// Preloaded into processes under faults: at SIGUSR2 what they hold after a collection of garbage is written to a file, for `measure.ts`.
import { renameSync, writeFileSync } from 'node:fs';

process.on('SIGUSR2', () => {
  for (let i = 0; i < 3; i++) globalThis.gc?.();
  const timers = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const file = `${process.env['CRS_TEST_PROBES']}/${process.pid}`;
  writeFileSync(`${file}.new`, JSON.stringify({ heap: process.memoryUsage().heapUsed, timers }));
  renameSync(`${file}.new`, file);
});

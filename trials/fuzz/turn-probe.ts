// Preloaded into measured processes. While a client is connected to its socket, measures each iteration of the event loop, for `longestTurn`.
import { createServer } from 'node:net';
import { isMainThread } from 'node:worker_threads';

const server = createServer((socket) => {
  let isMeasuring = true;
  let longest = 0;
  let last = process.threadCpuUsage();
  // An immediate runs once per iteration, so the CPU time between two immediates is that of an iteration. CPU time excludes other processes.
  const measure = () => {
    const { user, system } = process.threadCpuUsage(last);
    last = process.threadCpuUsage();
    longest = Math.max(longest, user + system);
    if (isMeasuring) setImmediate(measure);
  };
  setImmediate(measure);
  socket.on('error', () => (isMeasuring = false));
  socket.once('data', () => {
    isMeasuring = false;
    socket.end(String(longest / 1_000));
  });
  socket.write('measuring');
});
// Worker threads preload this module, too.
if (isMainThread) server.listen(`${process.env['CRS_TEST_PROBES']}/${process.pid}.turns`).unref();

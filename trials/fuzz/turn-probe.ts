// Preloaded into measured processes. For as long as a client of its socket wants, it measures each turn of the event loop for `longestTurn`.
import { createServer } from 'node:net';
import { isMainThread } from 'node:worker_threads';

const server = createServer((socket) => {
  let isMeasuring = true;
  let longest = 0;
  let last = process.threadCpuUsage();
  // Each immediate runs once in a turn, so the CPU time from one to the next is that of a turn. It doesn't count what other processes do.
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
// A worker thread preloads this, too.
if (isMainThread) server.listen(`${process.env['CRS_TEST_PROBES']}/${process.pid}.turns`).unref();

// Preloaded by bootstrap.mjs into the program that it starts: when the bootstrap is gone, however it ended, the program is told to
// stop as if by a signal. Without this a `kill -9` of the one would leave the other for ever.
if (process.channel) {
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  // The listener holds the channel open; it must not hold the program open.
  process.channel.unref();
}

export {};

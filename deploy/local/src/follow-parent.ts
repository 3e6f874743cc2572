// bootstrap.mjs preloads this into the program that it starts. When the bootstrap process ends, this process gets a SIGTERM. Without it, a `kill -9`
// of the bootstrap would leave the program running for ever.
if (process.channel) {
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  // The open channel must not keep the program running.
  process.channel.unref();
}

export {};

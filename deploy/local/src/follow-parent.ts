// bootstrap.mjs preloads this module into the program that it starts. It stops the program when the bootstrap process ends: a `kill -9` of the
// bootstrap would otherwise leave the program running.
if (process.channel) {
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  // The open channel must not keep the program running.
  process.channel.unref();
}

export {};

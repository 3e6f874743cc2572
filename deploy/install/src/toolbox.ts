// Keeps a pod running in which operators run `crs` through `kubectl exec`. It ends on SIGTERM or SIGINT.
const timer = setInterval(() => {}, 2 ** 30);
for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => clearInterval(timer));

// A pod in which operators run `crs`, by `kubectl exec`: it waits until it is told to go.
const timer = setInterval(() => {}, 2 ** 30);
for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => clearInterval(timer));

// `npm start`, `npm test` and `npm run crs` run this file before anything is installed, on the user's own Node.js (20 or newer):
//   node deploy/local/bootstrap.mjs start|test|crs [arguments...]
// It installs the dependencies (not for crs), then runs the program on the Node.js that the project pins. Only the program writes to standard output;
// messages of this file go to standard error. The exit code is the program's.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PNPM = join(ROOT, 'deploy/local/pnpm');
const OWN_NODE = join(ROOT, 'node_modules/.bin/node');
const PARENT = process.ppid;
const STAMP = join(ROOT, 'node_modules/.crs-installed');
const NO_NETWORK =
  /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|ETIMEDOUT|ERR_SOCKET_TIMEOUT|META_FETCH_FAIL|dns error|error sending request/i;

/** An error for the user: a wrong argument, or something that the machine lacks. The message says what to do. */
class UserError extends Error {}

const say = (line) => process.stderr.write(`${line}\n`);

/**
 * Runs a program until it exits.
 * The program gets a process group of its own and signals within half a second count as one: otherwise npm and the terminal would deliver a Ctrl-C
 * up to three times, and our programs exit at once on a second signal.
 * @returns {Promise<number>} the exit code, or 128 + n if signal n ended the program
 */
function run(command, args, { cwd = ROOT, env = process.env, stdio = 'inherit', onOutput } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env, stdio, detached: true });
    let last = -Infinity;
    const forward = (signal) => {
      if (performance.now() - last < 500) return;
      last = performance.now();
      // Closing the terminal should stop the program cleanly; our programs do so on SIGTERM.
      child.kill(signal === 'SIGHUP' ? 'SIGTERM' : signal);
    };
    const signals = ['SIGTERM', 'SIGINT', 'SIGHUP'];
    for (const signal of signals) process.on(signal, forward);
    // A signal sent to npm alone ends npm's shell but not this process, which could then no longer be stopped from the terminal. So it stops itself
    // when its parent changes.
    const orphaned = setInterval(() => {
      if (last === -Infinity && process.env.npm_lifecycle_event && process.ppid !== PARENT) forward('SIGTERM');
    }, 500);
    child.stdout?.on('data', onOutput);
    child.stderr?.on('data', onOutput);
    child.once('error', reject);
    child.once('close', (code, signal) => {
      clearInterval(orphaned);
      for (const name of signals) process.off(name, forward);
      resolve(code ?? 128 + constants.signals[signal]);
    });
  });
}

/** Runs a script on the project's Node.js, or on the user's if the project's has no binary for this platform. */
async function runNode(args, options) {
  // With compiled code cached here, later starts take two thirds of the time.
  process.env.NODE_COMPILE_CACHE ??= join(ROOT, 'node_modules/.cache/node');
  try {
    return await run(OWN_NODE, args, options);
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
  if (Number(process.versions.node.split('.')[0]) < 24) {
    throw new UserError(
      `The project's own Node.js has no binary for this platform (${process.platform}-${process.arch}), and yours is ${process.version}: install Node.js 24 or newer and run this again.`,
    );
  }
  return run(process.execPath, args, options);
}

/** Returns a hash of everything that an installation depends on: pnpm, the lockfile, the settings, each package.json in the lockfile, the platform. */
function installKey() {
  const lockfile = readFileSync(join(ROOT, 'pnpm-lock.yaml'), 'utf8');
  const importers = lockfile.slice(lockfile.indexOf('\nimporters:\n'), lockfile.indexOf('\npackages:\n'));
  const packages = [...importers.matchAll(/^ {2}(\S+):$/gm)].map(([, path]) => join(ROOT, path, 'package.json'));
  const hash = createHash('sha256').update(`${process.platform} ${process.arch} ${lockfile}`);
  for (const file of [join(PNPM, 'package-lock.json'), join(ROOT, 'pnpm-workspace.yaml'), ...packages])
    if (existsSync(file)) hash.update(readFileSync(file));
  return hash.digest('hex');
}

/** Installs the dependencies, unless the last installation by this function had the same key and nothing was installed since. */
async function install() {
  const key = installKey();
  const modules = join(ROOT, 'node_modules/.modules.yaml');
  if (
    existsSync(STAMP) &&
    existsSync(modules) &&
    readFileSync(STAMP, 'utf8') === key &&
    statSync(STAMP).mtimeMs >= statSync(modules).mtimeMs
  )
    return;
  rmSync(STAMP, { force: true });
  if (!onPath('npm')) throw new UserError('npm is missing: install npm (it comes with Node.js) and run this again.');
  say('Installing dependencies ...');
  let tail = '';
  // NODE_ENV=production would skip the development dependencies, which `npm test` needs.
  const { NODE_ENV: _, ...env } = process.env;
  const code = await run(join(PNPM, 'pnpm'), ['install', '--frozen-lockfile', '--prefer-offline'], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    onOutput: (chunk) => {
      process.stderr.write(chunk);
      tail = (tail + chunk).slice(-20_000);
    },
  });
  if (code > 128) process.exit(code);
  if (code !== 0 && NO_NETWORK.test(tail)) {
    throw new UserError(
      "The dependencies can't be downloaded: check the network (or npm's registry and proxy settings) and run this again.",
    );
  }
  if (code !== 0)
    throw new UserError('The dependencies could not be installed: fix the problem that the lines above name and run this again.');
  writeFileSync(STAMP, key);
}

const onPath = (program) => (process.env.PATH ?? '').split(delimiter).some((dir) => existsSync(join(dir, program)));

/** Installs a Redis server for the tests, if this runs as root on Debian or Ubuntu. */
async function provideRedis() {
  if (onPath('redis-server')) return;
  if (process.getuid?.() === 0 && onPath('apt-get')) {
    say('Installing redis-server for the tests ...');
    const options = {
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
      stdio: ['ignore', process.stderr, process.stderr],
    };
    const apt = (...args) => run('apt-get', ['-qq', ...args], options);
    const get = () => apt('install', '-y', '--no-install-recommends', 'redis-server');
    // The first attempt fails if the package lists are missing or out of date.
    if ((await get()) === 0 || ((await apt('update')) === 0 && (await get()) === 0)) return;
  }
  say('There is no redis-server on this machine: the tests that need one will not run. Install Redis (7 or newer) to run them.');
}

const commands = {
  async start(args) {
    await install();
    // The IPC channel closes when this process ends, even after a kill -9, and follow-parent.ts then stops the program.
    const follow = pathToFileURL(join(ROOT, 'deploy/local/src/follow-parent.ts')).href;
    return runNode(['--expose-gc', '--import', follow, join(ROOT, 'deploy/local/src/main.ts'), ...args], {
      stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    });
  },
  async test(args) {
    await install();
    await provideRedis();
    return runNode([join(ROOT, 'node_modules/vitest/vitest.mjs'), 'run', ...args]);
  },
  async crs(args) {
    if (!existsSync(join(ROOT, 'node_modules/.modules.yaml'))) {
      say('Nothing is installed yet: run `npm start` or `npm test` first.');
      return 2;
    }
    // An import creates much short-lived garbage. With a smaller young generation, the process needs 50 MiB less memory.
    return runNode(['--max-semi-space-size=8', join(ROOT, 'services/crs/src/main.ts'), ...args], { cwd: process.cwd() });
  },
};

async function main([name, ...args]) {
  if (Number(process.versions.node.split('.')[0]) < 20)
    throw new UserError(`Node.js 20 or newer is needed and this is ${process.version}: install a newer one and run this again.`);
  if (process.platform === 'win32') throw new UserError('The project runs on Linux and macOS: on Windows, run this inside WSL.');
  if (!Object.hasOwn(commands, name ?? ''))
    throw new UserError('Usage: node deploy/local/bootstrap.mjs start|test|crs [arguments...]');
  return commands[name](args);
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  say(error instanceof UserError ? error.message : error.stack);
  process.exitCode = 1;
}

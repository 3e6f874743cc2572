import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { stringify } from 'yaml';

export interface Target {
  /** `host:port`. */
  ops: string;
  namespace: string;
  service: string;
}

export interface Series {
  metric: Record<string, string>;
  /** Pairs of epoch seconds and a number as text. */
  values: [number, string][];
}

/** A real Prometheus with our rules. */
export interface Prometheus {
  /** Evaluates an expression over the time from `from` to the present. @throws Error with Prometheus' message */
  range(expression: string, from: Date): Promise<Series[]>;
  stop(): Promise<void>;
}

export const SCRAPE_EVERY_S = 2;

/** @param program path of Prometheus, or its name in PATH */
export async function startPrometheus(program: string, port: number, rules: string, targets: Target[]): Promise<Prometheus> {
  const directory = await mkdtemp(join(tmpdir(), 'crs-prometheus-'));
  const config = {
    global: {
      scrape_interval: `${SCRAPE_EVERY_S}s`,
      scrape_timeout: `${SCRAPE_EVERY_S}s`,
      evaluation_interval: `${SCRAPE_EVERY_S}s`,
    },
    rule_files: [rules],
    scrape_configs: [
      {
        job_name: 'call-research',
        static_configs: targets.map(({ ops, ...labels }) => ({ targets: [ops], labels })),
      },
    ],
  };
  await writeFile(join(directory, 'prometheus.yml'), stringify(config));
  const options = { 'config.file': join(directory, 'prometheus.yml'), 'storage.tsdb.path': join(directory, 'data') };
  const flags = Object.entries({ ...options, 'web.listen-address': `127.0.0.1:${port}`, 'log.level': 'warn' });
  const child = spawn(
    program,
    flags.map(([name, value]) => `--${name}=${value}`),
    { stdio: ['ignore', 'inherit', 'inherit'] },
  );
  const exited = once(child, 'exit');
  const origin = `http://127.0.0.1:${port}`;
  for (const until = Date.now() + 30_000; ; await sleep(200)) {
    const answer = await fetch(`${origin}/-/ready`).catch(() => undefined);
    if (answer?.ok) break;
    if (Date.now() > until) throw new Error('Prometheus was not ready within 30 s.');
  }
  return {
    range: async (query, from) => {
      const step = String(2 * SCRAPE_EVERY_S);
      const body = new URLSearchParams({ query, start: from.toISOString(), end: new Date().toISOString(), step });
      const answer = await fetch(`${origin}/api/v1/query_range`, { method: 'POST', body });
      const { data, error } = (await answer.json()) as { data?: { result: Series[] }; error?: string };
      if (!data) throw new Error(`${error}: ${query}`);
      return data.result;
    },
    stop: async () => {
      child.kill();
      await exited;
      await rm(directory, { recursive: true });
    },
  };
}

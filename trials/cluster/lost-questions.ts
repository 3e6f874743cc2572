/**
 * Replaces every pod under load while a share of all questions to DNS, and of its answers, is lost. No request may fail.
 *
 * Usage: node trials/cluster/lost-questions.ts [PERCENT]
 * Needs the release that the scenario's first steps leave ('install from nothing', 'a tenant, by crs in the cluster'), and root on the node, whose packet
 * filter drops the packets. 10 percent by default.
 */
import { kubectl, NAME, run, SERVICES } from './cluster.ts';
import { report } from './report.ts';
import { replacesAll } from './under-load.ts';

const percent = Number(process.argv[2] ?? 10);
const TABLE = 'crs_lost_questions';
const LOSS = `table inet ${TABLE} {
  chain forward {
    type filter hook forward priority -10
    udp dport 53 numgen random mod 100 < ${percent} counter drop
    udp sport 53 numgen random mod 100 < ${percent} counter drop
  }
}`;

async function replaceAll(): Promise<void> {
  const deployments = SERVICES.map((service) => `deployment/${NAME}-${service}`);
  await kubectl(['rollout', 'restart', ...deployments]);
  await Promise.all(deployments.map((name) => kubectl(['rollout', 'status', name, '--timeout=300s'])));
}

async function lost(): Promise<string> {
  const note = await replacesAll(async () => {
    await run('nft', ['--file', '-'], { input: LOSS });
    await replaceAll();
  });
  const packets = (await run('nft', ['list', 'table', 'inet', TABLE])).match(/(?<=counter packets )\d+/g) ?? [];
  return `${packets.join(' questions and ')} answers lost; ${note}`;
}

try {
  process.exitCode = (await report([[`every pod anew, ${percent} % of DNS lost`, lost]])) ? 0 : 1;
} finally {
  await run('nft', ['delete', 'table', 'inet', TABLE]).catch(() => '');
}

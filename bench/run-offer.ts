import { spawn } from 'node:child_process';
import { json } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { Offer, Offered } from './offer.ts';

/** Runs the load generator in a process of its own. @throws SyntaxError if it fails; it says why on standard error */
export async function runOffer(offer: Offer): Promise<Offered> {
  const program = fileURLToPath(new URL('offer.ts', import.meta.url));
  const generator = spawn(process.execPath, [program], { stdio: ['pipe', 'pipe', 'inherit'] });
  generator.stdin.end(JSON.stringify(offer));
  return (await json(generator.stdout)) as Offered;
}

/** `17 x 200, 3 x 429` */
export function countStatuses({ statuses }: Offered): string {
  return Object.entries(statuses)
    .map(([status, count]) => `${count} x ${status}`)
    .join(', ');
}

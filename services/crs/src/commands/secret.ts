import type { Command } from 'commander';
import type { SecretUse } from '@crs/proto/crs/auth/v1/admin';
import { command, connected } from '../command.ts';
import { show, type OutputOptions } from '../output.ts';

/** `crs secret`: the secrets of CRS_SECRET, and the values that they encrypt. */
export function secretCommands(program: Command): void {
  const secret = program.command('secret').description('the secrets of CRS_SECRET, and the stored values that they encrypt');

  command(secret, 'status', 'count the stored values by the secret that encrypted them').action((options: OutputOptions) =>
    connected(async ({ auth, operator }) => {
      const { secrets } = await auth.getSecretStatus({}, await operator());
      show(options, { data: secrets.map(toJson) });
    }),
  );

  command(secret, 'reseal', 'encrypt all stored values under the first secret; it may be stopped and repeated').action(
    (options: OutputOptions) =>
      connected(async ({ auth, operator }) => {
        let resealed = 0;
        for (let done = false; !done;) {
          const step = await auth.resealValues({}, await operator());
          resealed += step.resealed;
          done = step.done;
        }
        show(options, { resealed }, () => `${resealed} values were encrypted again. "crs secret status" shows the rest.`);
      }),
  );
}

function toJson({ secretId, configured, seals, values }: SecretUse) {
  const use = seals ? 'seals' : configured ? 'opens' : 'missing';
  return { secret_id: secretId, use, values };
}

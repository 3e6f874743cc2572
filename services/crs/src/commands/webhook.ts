import type { Command } from 'commander';
import { connected, tenantCommand, type TenantOptions } from '../command.ts';
import type { Connection } from '../connection.ts';
import { layOutWithSecret, show, toJson } from '../output.ts';
import { confirm, withConsent, type ConsentOptions } from '../prompt.ts';

/** `crs webhook`: endpoints that hear of an organization's changed calls. */
export function webhookCommands(program: Command): void {
  const webhook = program.command('webhook').description("endpoints that hear of changes of an organization's calls");

  tenantCommand(webhook, 'create', 'create an endpoint, and its secret, shown this once')
    .requiredOption('--url <url>', 'where messages are sent: https, at port 443 of a public address')
    .addHelpText('after', '\nExamples:\n  crs webhook create --org acme --url https://hooks.acme.example/calls')
    .action((options: TenantOptions & { url: string }) =>
      manage(options, async (webhooks, call) => {
        const { webhook: created, secret } = await webhooks.createWebhook({ url: options.url }, call);
        const value = { webhook_id: created!.webhookId, secret, ...toJson(created!) };
        show(options, value, () => layOutWithSecret(value, 'secret'));
      }),
    );

  tenantCommand(webhook, 'list', 'list the endpoints, oldest first').action((options: TenantOptions) =>
    manage(options, async (webhooks, call) => {
      show(options, { data: (await webhooks.listWebhooks({}, call)).webhooks.map(toJson) });
    }),
  );

  ofEndpoint(webhook, 'test', 'send a ping now; exits with 1 unless the endpoint accepts it').action(
    (webhookId: string, options: TenantOptions) =>
      manage(options, async (webhooks, call) => {
        const { delivery } = await webhooks.testWebhook({ webhookId }, call);
        show(options, toJson(delivery!));
        const { status = 0 } = delivery!;
        if (status < 200 || status > 299) process.exitCode = 1;
      }),
  );

  ofEndpoint(webhook, 'deliveries', 'list the last 50 attempts, newest first').action(
    (webhookId: string, options: TenantOptions) =>
      manage(options, async (webhooks, call) => {
        show(options, { data: (await webhooks.listDeliveries({ webhookId }, call)).deliveries.map(toJson) });
      }),
  );

  ofEndpoint(webhook, 'rotate', 'replace the secret; for 24 hours, messages are signed with both').action(
    (webhookId: string, options: TenantOptions) =>
      manage(options, async (webhooks, call) => {
        const { secret, previousUntil } = await webhooks.rotateWebhook({ webhookId }, call);
        const value = { webhook_id: webhookId, secret, previous_until: previousUntil!.toISOString() };
        show(options, value, () => layOutWithSecret(value, 'secret'));
      }),
  );

  for (const [verb, summary] of [
    ['enable', 'send messages again, beginning with the first one that was not delivered'],
    ['disable', 'send no more messages'],
  ] as const) {
    ofEndpoint(webhook, verb, summary).action((webhookId: string, options: TenantOptions) =>
      manage(options, async (webhooks, call) => {
        const request = { webhookId, enabled: verb === 'enable' };
        show(options, toJson((await webhooks.setWebhookEnabled(request, call)).webhook!));
      }),
    );
  }

  withConsent(ofEndpoint(webhook, 'delete', 'delete an endpoint; this cannot be undone')).action(
    async (webhookId: string, options: TenantOptions & ConsentOptions) => {
      await confirm(`This deletes the webhook ${webhookId} of ${options.org}`, options);
      return manage(options, async (webhooks, call) => {
        await webhooks.deleteWebhook({ webhookId }, call);
        show(options, { webhook_id: webhookId, deleted: true }, () => `The webhook ${webhookId} was deleted.`);
      });
    },
  );
}

function ofEndpoint(parent: Command, verb: string, summary: string): Command {
  return tenantCommand(parent, verb, summary).argument('<webhook-id>', 'id of the endpoint');
}

type Webhooks = ReturnType<Connection['webhooks']>;

function manage(
  { org }: TenantOptions,
  work: (webhooks: Webhooks, call: Awaited<ReturnType<Connection['operator']>>) => Promise<void>,
): Promise<void> {
  return connected(async ({ webhooks, operator }) => work(webhooks(), await operator(org)));
}

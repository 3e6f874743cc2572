import type { Command } from 'commander';
import { command, connected } from '../command.ts';
import { layOut, layOutWithSecret, show, toJson, type OutputOptions } from '../output.ts';
import { confirm, withConsent, type ConsentOptions } from '../prompt.ts';

/** `crs client`: assistants that can't register themselves. */
export function clientCommands(program: Command): void {
  const client = program.command('client').description("assistants that can't register themselves, for all organizations");

  command(client, 'create', 'register a client')
    .requiredOption('--name <name>', 'name on the consent page, 1 to 100 characters')
    .requiredOption('--redirect-uri <uri...>', 'where sign-in returns to the client; a loopback address may use any port')
    .option('--secret', 'create a client secret, shown this once; without this option, it is a public client')
    .addHelpText(
      'after',
      '\nExamples:\n  crs client create --name "Our assistant" --redirect-uri https://assistant.example/callback --secret',
    )
    .action((options: OutputOptions & { name: string; redirectUri: string[]; secret?: boolean }) =>
      connected(async ({ auth, operator }) => {
        const request = { name: options.name, redirectUris: options.redirectUri, withSecret: options.secret ?? false };
        const { client: created, clientSecret } = await auth.createClient(request, await operator());
        const value = { ...toJson(created!), ...(clientSecret && { client_secret: clientSecret }) };
        show(options, value, () => (clientSecret ? layOutWithSecret(value, 'secret') : layOut(value)));
      }),
    );

  command(client, 'list', 'list registered clients by name').action((options: OutputOptions) =>
    connected(async ({ auth, operator }) => {
      const { clients } = await auth.listClients({}, await operator());
      show(options, { data: clients.map(toJson) });
    }),
  );

  withConsent(command(client, 'remove', "remove a client; it can't renew its tokens any more"))
    .argument('<client-id>', 'id of the client')
    .action(async (clientId: string, options: OutputOptions & ConsentOptions) => {
      await confirm(`This removes the client ${clientId}`, options);
      return connected(async ({ auth, operator }) => {
        const { client: removed } = await auth.removeClient({ clientId }, await operator());
        show(options, toJson(removed!), () => `Client ${clientId} is removed.`);
      });
    });
}

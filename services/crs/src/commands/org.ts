import { Option, type Command } from 'commander';
import type { AssertionIssuers, OidcProviderSettings, Organization, OrganizationSettings } from '@crs/proto/crs/auth/v1/admin';
import type { RateLimit } from '@crs/proto/crs/auth/v1/auth';
import {
  allowedFields,
  assertionIssuers,
  clientHosts,
  domains,
  oidcIssuer,
  onOff,
  organizationId,
  positiveNumber,
  rateLimit,
  retention,
} from '../arguments.ts';
import { command, connected } from '../command.ts';
import { Failure } from '../failure.ts';
import { layOut, show, toJson, type OutputOptions } from '../output.ts';
import { confirm, isTerminal, readSecret, type ConsentOptions } from '../prompt.ts';

/** `crs org`: organizations and their settings. */
export function orgCommands(program: Command): void {
  const org = program.command('org').description('organizations and their settings');

  withSettings(command(org, 'create', 'create an organization'))
    .argument('<id>', 'id of the new organization, never changed later', organizationId)
    .requiredOption('--name <name>', 'name to show, 1 to 200 characters')
    .action(async (id: string, options: SettingOptions & OutputOptions) => {
      const settings = await settingsOf(options);
      return connected(async ({ auth, operator }) => {
        const { organization } = await auth.createOrganization({ settings }, await operator(id));
        show(options, organizationJson(organization!));
      });
    });

  const update = withSettings(command(org, 'update', 'change settings of an organization; other settings stay as they are'))
    .argument('<id>', 'id of the organization', organizationId)
    .option('--name <name>', 'name to show, 1 to 200 characters')
    .action(async (id: string, options: SettingOptions & OutputOptions) => {
      const settings = await settingsOf(options);
      if (Object.values(settings).every((value) => value === undefined))
        update.error('error: name at least one setting to change');
      return connected(async ({ auth, operator }) => {
        const { organization } = await auth.updateOrganization({ settings }, await operator(id));
        show(options, organizationJson(organization!));
      });
    });

  command(org, 'show', 'show an organization and its settings')
    .argument('<id>', 'id of the organization', organizationId)
    .action((id: string, options: OutputOptions) =>
      connected(async ({ auth, operator }) => {
        const { organization } = await auth.getOrganization({}, await operator(id));
        show(options, organizationJson(organization!));
      }),
    );

  const setSuspended = (name: string, summary: string, suspended: boolean) =>
    command(org, name, summary)
      .argument('<id>', 'id of the organization', organizationId)
      .action((id: string, options: OutputOptions) =>
        connected(async ({ auth, operator }) => {
          const { organization } = await auth.setOrganizationSuspended({ suspended }, await operator(id));
          show(options, organizationJson(organization!));
        }),
      );
  setSuspended('suspend', 'refuse the keys, tokens and users of an organization within a second; nothing is deleted', true);
  setSuspended('resume', 'let the keys, tokens and users of a suspended organization in again', false);

  const remove = command(org, 'delete', 'delete an organization and all its data; this cannot be undone')
    .argument('<id>', 'id of the organization', organizationId)
    .option('--yes', 'confirm the deletion; required without a terminal')
    .addHelpText('after', '\nRun it again to finish a deletion that was interrupted.')
    .action(async (id: string, options: ConsentOptions & OutputOptions) => {
      const deed = `deletes ${id} with all its users, projects and calls`;
      if (!options.yes && !isTerminal()) remove.error(`error: this ${deed}; add --yes to confirm`);
      await confirm(`This ${deed}`, options);
      return connected(async (connection) => {
        const { erase } = await import('../erasure.ts');
        if (!(await erase(connection, id, { $case: 'organization', value: true }))) {
          throw new Failure('not_found', 'There is no organization with this id. `crs org list` shows all organizations.');
        }
        show(options, { organization_id: id, deleted: true }, () => `${id} is deleted.`);
      });
    });

  command(org, 'list', 'list all organizations').action((options: OutputOptions) =>
    connected(async ({ auth, operator }) => {
      const { organizations } = await auth.listOrganizations({}, await operator());
      show(options, { data: organizations.map(organizationJson) }, () =>
        layOut({
          data: organizations.map(({ organizationId, name, writeSurface, anonymizeInterviewees, oidcProvider, suspendedAt }) => ({
            organization: organizationId,
            name,
            'write surface': writeSurface,
            anonymize: anonymizeInterviewees,
            'sign-in': oidcProvider?.issuer ?? 'passwords',
            suspended: suspendedAt !== undefined,
          })),
        }),
      );
    }),
  );
}

interface SettingOptions {
  name?: string;
  writeSurface?: boolean;
  anonymize?: boolean;
  allowedFields?: OrganizationSettings['allowedFields'];
  rateLimit?: RateLimit;
  toolRateLimit?: RateLimit;
  deleteLimit?: number;
  retainCalls?: string;
  retainBy?: string;
  retainPerDay?: number;
  clients?: string;
  clientHosts?: string[];
  ownTokens?: boolean;
  oidcIssuer?: string;
  oidcClientId?: string;
  oidcClientSecretStdin?: true;
  oidcDomains?: string[];
  oidcEmailProof?: string;
  assertionIssuers?: AssertionIssuers;
}

function withSettings(target: Command): Command {
  return target
    .option('--write-surface <on|off>', 'whether it may create projects over REST', onOff)
    .option('--anonymize <on|off>', 'whether interviewees appear under replaced names', onOff)
    .option('--allowed-fields <fields>', 'fields that its responses may contain: a,b or default or none', allowedFields)
    .option('--rate-limit <requests/seconds>', 'limit of the REST API, like 600/60', rateLimit)
    .option('--tool-rate-limit <requests/seconds>', "limit of each user's tool calls, like 120/60", rateLimit)
    .option('--delete-limit <records>', 'records that all its keys together may delete in an hour, like 1000', positiveNumber)
    .option(
      '--retain-calls <period|none>',
      'how long it keeps calls, like 3y or 90d; `crs retention run` deletes older ones; its first run after a change only counts',
      retention,
    )
    .addOption(
      new Option(
        '--retain-by <date|created>',
        "what a call's age is counted from: its date, or if it has none its creation; or always its creation",
      ).choices(['date', 'created']),
    )
    .option('--retain-per-day <calls>', 'calls that `crs retention run` deletes in a day, like 10000', positiveNumber)
    .addOption(
      new Option(
        '--clients <any|listed>',
        'assistants that its users may connect: any, or only those that `crs client create` registered and those of --client-hosts',
      ).choices(['any', 'listed']),
    )
    .option(
      '--client-hosts <hosts|none>',
      'hosts of the metadata documents of listed assistants, like claude.ai,chatgpt.com',
      clientHosts,
    )
    .option(
      '--own-tokens <on|off>',
      'whether its users may make access tokens for themselves; off also ends those that exist, for good',
      onOff,
    )
    .option(
      '--oidc-issuer <url|none>',
      "the organization's own OpenID provider; while one is set, users sign in there and passwords are off",
      oidcIssuer,
    )
    .option('--oidc-client-id <id>', 'client id of this service at the provider')
    .option('--oidc-client-secret-stdin', 'read the client secret (one line) from standard input; it is never shown')
    .option('--oidc-domains <domains>', "domains of its users' e-mail addresses, like a.example,b.example", domains)
    .addOption(
      new Option(
        '--oidc-email-proof <proof>',
        'what proves an e-mail address at the first sign-in: the claim email_verified; also the claim xms_edov of Microsoft Entra; ' +
          'or the issuer itself, if only your customer assigns its addresses (another issuer resets it to claim)',
      ).choices(['claim', 'xms_edov', 'issuer']),
    )
    .option(
      '--assertion-issuers <urls|none>',
      'issuers whose identity assertions connect users without their consent, like https://acme.okta.com; the first needs an OpenID ' +
        'provider, whose domains bound the e-mails; removing one ends the connections that assertions made',
      assertionIssuers,
    );
}

async function settingsOf(options: SettingOptions): Promise<OrganizationSettings> {
  const { name, writeSurface, anonymize: anonymizeInterviewees, allowedFields, rateLimit, toolRateLimit } = options;
  const { deleteLimit, retainCalls, retainBy, retainPerDay, clients, ownTokens, assertionIssuers } = options;
  const clientHosts = options.clientHosts && { hosts: options.clientHosts };
  const view = { writeSurface, anonymizeInterviewees, allowedFields };
  const limits = { rateLimit, toolRateLimit, deleteLimit };
  const retained = { retainCalls, retainBy, retainPerDay };
  const access = { clients, clientHosts, ownTokens, assertionIssuers, oidcProvider: await oidcProviderOf(options) };
  return { name, ...view, ...limits, ...retained, ...access };
}

async function oidcProviderOf(options: SettingOptions): Promise<OidcProviderSettings | undefined> {
  const { oidcIssuer: issuer, oidcClientId: clientId, oidcClientSecretStdin, oidcDomains, oidcEmailProof: emailProof } = options;
  if (issuer === undefined && clientId === undefined && !oidcClientSecretStdin && !oidcDomains && emailProof === undefined)
    return undefined;
  const clientSecret = oidcClientSecretStdin ? await readSecret('client secret', '--oidc-client-secret-stdin') : undefined;
  return { issuer, clientId, clientSecret, domains: oidcDomains ?? [], emailProof };
}

function organizationJson({ allowedFields, ...organization }: Organization) {
  return {
    ...toJson(organization),
    allowed_fields: allowedFields?.fields ?? [],
    allowed_fields_default: allowedFields?.default ?? true,
  };
}

import { Option, type Command } from 'commander';
import type { OidcProviderSettings, Organization, OrganizationSettings } from '@crs/proto/crs/auth/v1/admin';
import type { RateLimit } from '@crs/proto/crs/auth/v1/auth';
import { allowedFields, domains, oidcIssuer, onOff, organizationId, rateLimit } from '../arguments.ts';
import { command, connected, type Connect } from '../command.ts';
import { Failure } from '../failure.ts';
import { details, instant, show, table, type OutputOptions } from '../output.ts';
import { confirm, isTerminal, type ConsentOptions } from '../question.ts';
import { readSecret } from '../stdin.ts';

/** `crs org`: organizations and their settings. */
export function orgCommands(program: Command, connect: Connect): void {
  const org = program.command('org').description('organizations and their settings');

  withSettings(command(org, 'create', 'create an organization'))
    .argument('<id>', 'id of the new organization, never changed later', organizationId)
    .requiredOption('--name <name>', 'name to show, 1 to 200 characters')
    .action(async (id: string, options: SettingOptions & OutputOptions) => {
      const settings = await settingsOf(options);
      return connected(connect, async ({ auth, operator }) => {
        const { organization } = await auth.createOrganization({ settings }, await operator(id));
        showOrganization(options, organization!);
      });
    });

  const update = withSettings(command(org, 'update', 'change settings of an organization; other settings stay as they are'))
    .argument('<id>', 'id of the organization', organizationId)
    .option('--name <name>', 'name to show, 1 to 200 characters')
    .action(async (id: string, options: SettingOptions & OutputOptions) => {
      const settings = await settingsOf(options);
      if (Object.values(settings).every((value) => value === undefined))
        update.error('error: name at least one setting to change');
      return connected(connect, async ({ auth, operator }) => {
        const { organization } = await auth.updateOrganization({ settings }, await operator(id));
        showOrganization(options, organization!);
      });
    });

  command(org, 'show', 'show an organization and its settings')
    .argument('<id>', 'id of the organization', organizationId)
    .action((id: string, options: OutputOptions) =>
      connected(connect, async ({ auth, operator }) => {
        const { organization } = await auth.getOrganization({}, await operator(id));
        showOrganization(options, organization!);
      }),
    );

  const remove = command(org, 'delete', 'delete an organization and all its data; this cannot be undone')
    .argument('<id>', 'id of the organization', organizationId)
    .option('--yes', 'confirm the deletion; required without a terminal')
    .addHelpText('after', '\nRun it again to finish a deletion that was interrupted.')
    .action(async (id: string, options: ConsentOptions & OutputOptions) => {
      const deed = `deletes ${id} with all its users, projects and calls`;
      if (!options.yes && !isTerminal()) remove.error(`error: this ${deed}; add --yes to confirm`);
      await confirm(`This ${deed}`, options);
      return connected(connect, async (connection) => {
        const { erase } = await import('../erasure.ts');
        if (!(await erase(connection, id, { $case: 'organization', value: true }))) {
          throw new Failure('not_found', 'There is no organization with this id. `crs org list` shows all organizations.');
        }
        show(options, { organization_id: id, deleted: true }, () => `${id} is deleted.`);
      });
    });

  command(org, 'list', 'list all organizations').action((options: OutputOptions) =>
    connected(connect, async ({ auth, operator }) => {
      const { organizations } = await auth.listOrganizations({}, await operator());
      show(options, { data: organizations.map(toJson) }, () =>
        table(
          ['organization', 'name', 'write surface', 'anonymize', 'allowed fields', 'rate limit', 'tool rate limit', 'sign-in'],
          organizations.map((each) => [
            each.organizationId,
            each.name,
            onOrOff(each.writeSurface),
            onOrOff(each.anonymizeInterviewees),
            fieldsSummary(each),
            limitText(each.rateLimit),
            limitText(each.toolRateLimit),
            signInText(each),
          ]),
        ),
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
  oidcIssuer?: string;
  oidcClientId?: string;
  oidcClientSecretStdin?: true;
  oidcDomains?: string[];
}

function withSettings(target: Command): Command {
  return target
    .addOption(new Option('--write-surface <on|off>', 'whether it may create projects over REST').argParser(onOff))
    .addOption(new Option('--anonymize <on|off>', 'whether interviewees appear under replaced names').argParser(onOff))
    .addOption(
      new Option('--allowed-fields <fields>', 'gated fields in its answers: a,b or default or none').argParser(allowedFields),
    )
    .addOption(new Option('--rate-limit <requests/seconds>', 'limit of the REST API, like 600/60').argParser(rateLimit))
    .addOption(
      new Option('--tool-rate-limit <requests/seconds>', "limit of each user's tool calls, like 120/60").argParser(rateLimit),
    )
    .addOption(
      new Option(
        '--oidc-issuer <url|none>',
        "the organization's own OpenID provider; while one is set, users sign in there and passwords are off",
      ).argParser(oidcIssuer),
    )
    .option('--oidc-client-id <id>', 'client id of this service at the provider')
    .option('--oidc-client-secret-stdin', 'read the client secret (one line) from standard input; it is never shown')
    .addOption(
      new Option('--oidc-domains <domains>', "domains of its users' e-mail addresses, like a.example,b.example").argParser(
        domains,
      ),
    );
}

async function settingsOf(options: SettingOptions): Promise<OrganizationSettings> {
  return {
    name: options.name,
    writeSurface: options.writeSurface,
    anonymizeInterviewees: options.anonymize,
    allowedFields: options.allowedFields,
    rateLimit: options.rateLimit,
    toolRateLimit: options.toolRateLimit,
    oidcProvider: await oidcProviderOf(options),
  };
}

async function oidcProviderOf(options: SettingOptions): Promise<OidcProviderSettings | undefined> {
  const { oidcIssuer: issuer, oidcClientId: clientId, oidcClientSecretStdin, oidcDomains } = options;
  if (issuer === undefined && clientId === undefined && !oidcClientSecretStdin && !oidcDomains) return undefined;
  const clientSecret = oidcClientSecretStdin ? await readSecret('client secret', '--oidc-client-secret-stdin') : undefined;
  return { issuer, clientId, clientSecret, domains: oidcDomains ?? [] };
}

function showOrganization(options: OutputOptions, organization: Organization): void {
  const { oidcProvider: provider } = organization;
  show(options, toJson(organization), () =>
    details([
      ['organization', organization.organizationId],
      ['name', organization.name],
      ['write surface', onOrOff(organization.writeSurface)],
      ['anonymize', onOrOff(organization.anonymizeInterviewees)],
      ['allowed fields', fieldsText(organization)],
      ['rate limit', limitText(organization.rateLimit)],
      ['tool rate limit', limitText(organization.toolRateLimit)],
      ['sign-in', signInText(organization)],
      ['client id', provider?.clientId ?? null],
      ['client secret', provider ? (provider.hasClientSecret ? 'set' : 'none') : null],
      ['e-mail domains', provider?.domains.join(',') ?? null],
      ['redirect URI', organization.oidcRedirectUri],
      ['created', instant(organization.createdAt)],
    ]),
  );
}

function toJson(organization: Organization) {
  return {
    organization_id: organization.organizationId,
    name: organization.name,
    write_surface: organization.writeSurface,
    anonymize_interviewees: organization.anonymizeInterviewees,
    allowed_fields: organization.allowedFields?.fields ?? [],
    allowed_fields_default: organization.allowedFields?.default ?? true,
    rate_limit: limitJson(organization.rateLimit),
    tool_rate_limit: limitJson(organization.toolRateLimit),
    oidc_provider: organization.oidcProvider
      ? {
          issuer: organization.oidcProvider.issuer,
          client_id: organization.oidcProvider.clientId,
          has_client_secret: organization.oidcProvider.hasClientSecret,
          domains: organization.oidcProvider.domains,
        }
      : null,
    oidc_redirect_uri: organization.oidcRedirectUri,
    created_at: instant(organization.createdAt),
  };
}

function signInText({ oidcProvider }: Organization): string {
  return oidcProvider?.issuer ?? 'passwords';
}

function limitJson(limit: RateLimit | undefined) {
  return limit ? { requests: limit.requests, period_seconds: limit.periodSeconds } : null;
}

function limitText(limit: RateLimit | undefined): string | null {
  return limit ? `${limit.requests}/${limit.periodSeconds}` : null;
}

function fieldsText({ allowedFields: allowed }: Organization): string {
  if (!allowed || allowed.default) return 'default';
  return allowed.fields.join(',') || 'none';
}

/** Short enough for a column. */
function fieldsSummary(organization: Organization): string {
  const text = fieldsText(organization);
  return text.length <= 30 ? text : `${organization.allowedFields!.fields.length} fields`;
}

function onOrOff(value: boolean): string {
  return value ? 'on' : 'off';
}

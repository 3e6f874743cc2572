/** Random desired states. */
import { randomFrom } from '@crs/testing/random';
import { ALLOWED_FIELDS } from '@crs/records/allowed-fields';
import { sha256, type State } from './_apply.ts';

const PROJECTS = [1, 2, 3].map((i) => `00000000-0000-4000-8000-00000000000${i}`);
const TEXTS = ['Acme', 'on', '12:30', "it's #1", 'é ☎ \u202e', 'two\nlines', ' padded ', '007', '~', '- x'];
const HOSTS = ['claude.ai', 'chatgpt.com', 'a.example:8443'];
const NETWORKS = ['203.0.113.0/24', '10.0.0.1', '2001:db8::/32'];

/** @returns the same states for the same seed, each of another organization */
export function randomTenants(seed: number, count: number): { states: State[]; projectIds: string[] } {
  const random = randomFrom(seed);
  const below = (n: number) => Math.floor(random() * n);
  const pick = <T>(items: readonly T[]): T => items[below(items.length)]!;
  const some = <T>(items: readonly T[]) => items.filter(() => random() < 0.5);
  const maybe = <T>(field: string, value: () => T) => (random() < 0.7 ? { [field]: value() } : {});
  const rate = () =>
    random() < 0.5 ? `${1 + below(1e6)}/${1 + below(86_400)}` : { requests: 1 + below(1e9), period_seconds: 1 + below(86_400) };
  const times = <T>(most: number, make: (i: number) => T) => Array.from({ length: below(most + 1) }, (_, i) => make(i));

  const oidcOf = (id: string) => ({
    oidc: {
      issuer: `https://idp-${below(3)}.example${pick(['', '/tenant'])}`,
      client_id: pick(TEXTS),
      domains: [`${id}.example`, ...(random() < 0.5 ? [`b.${id}.example`] : [])],
      ...maybe('email_proof', () => pick(['claim', 'xms_edov', 'issuer'])),
    },
    ...maybe('assertion_issuers', () => [`https://issuer.${id}.example`]),
  });
  const states = Array.from({ length: count }, (_, i): State => {
    const id = `t${i}`;
    return {
      id,
      ...maybe('name', () => pick(TEXTS)),
      ...maybe('write_surface', () => pick([true, false, 'on', 'off'])),
      ...maybe('anonymize_interviewees', () => random() < 0.5),
      ...maybe('allowed_fields', () => pick([null, 'default', 'none', some(ALLOWED_FIELDS)])),
      ...maybe('rate_limit', rate),
      ...maybe('tool_rate_limit', rate),
      ...maybe('delete_limit', () => 1 + below(1e9)),
      ...maybe('retain_calls', () => pick(['none', '3y', '90d'])),
      ...maybe('retain_by', () => pick(['date', 'created'])),
      ...maybe('retain_per_day', () => 1 + below(1e9)),
      ...maybe('clients', () => pick(['any', 'listed'])),
      ...maybe('client_hosts', () => pick(['none', some(HOSTS)])),
      ...maybe('own_tokens', () => random() < 0.5),
      ...(random() < 0.5 && oidcOf(id)),
      ...maybe('keys', () =>
        times(4, (k) => ({
          sha256: sha256(`key ${k} of ${id}`),
          ...maybe('label', () => pick(TEXTS)),
          ...maybe('rights', () => [pick(['read', 'write']), ...some(['ingest', 'delete'])]),
          ...maybe('networks', () => some(NETWORKS)),
          ...maybe('expires_at', () => pick([null, '2099-01-01T00:00:00+02:00', '2050-06-30T12:00:00.1234Z'])),
        })),
      ),
      ...maybe('scim_tokens', () =>
        times(2, (k) => ({ sha256: sha256(`token ${k} of ${id}`), ...maybe('label', () => pick(TEXTS)) })),
      ),
      ...maybe('group_maps', () =>
        some(PROJECTS).map((project_id) => ({ group: pick(TEXTS), project_id, role: pick(['lead', 'member']) })),
      ),
    };
  });
  return { states, projectIds: PROJECTS };
}

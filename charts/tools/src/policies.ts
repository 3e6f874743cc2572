import { ofKind, pods, type Manifest } from './render.ts';

type Direction = 'ingress' | 'egress';
type Labels = Record<string, string>;

/** The pods of a release that NetworkPolicies distinguish, by component. */
export function components(manifests: Manifest[]): Map<string, Labels> {
  return new Map(pods(manifests).map(({ metadata }) => [metadata.labels['app.kubernetes.io/component'], metadata.labels]));
}

function selects(selector: Manifest, labels: Labels): boolean {
  if (selector.matchExpressions) throw new Error('matchExpressions are not understood here');
  return Object.entries(selector.matchLabels ?? {}).every(([key, value]) => labels[key] === value);
}

/** Returns the rules of a direction that apply to a pod; undefined if it isn't isolated, so everything is allowed. */
function rulesFor(manifests: Manifest[], labels: Labels, direction: Direction): Manifest[] | undefined {
  const type = direction === 'ingress' ? 'Ingress' : 'Egress';
  const policies = ofKind(manifests, 'NetworkPolicy').filter(
    ({ spec }) => selects(spec.podSelector, labels) && spec.policyTypes.includes(type),
  );
  return policies.length === 0 ? undefined : policies.flatMap(({ spec }) => (spec[direction] as Manifest[] | undefined) ?? []);
}

const peersOf = (rule: Manifest, direction: Direction) => rule[direction === 'ingress' ? 'from' : 'to'] as Manifest[] | undefined;

/** Whether a pod's policies allow TCP between it and another pod of the same namespace. */
function allows(manifests: Manifest[], pod: Labels, direction: Direction, other: Labels, port: number): boolean {
  const rules = rulesFor(manifests, pod, direction);
  if (!rules) return true;
  return rules.some((rule) => {
    const ports = rule.ports as Manifest[] | undefined;
    if (ports && !ports.some((each) => each.port === port && (each.protocol ?? 'TCP') === 'TCP')) return false;
    const peers = peersOf(rule, direction);
    return !peers || peers.some((peer) => peer.podSelector && !peer.namespaceSelector && selects(peer.podSelector, other));
  });
}

/**
 * Lists the connections that a release allows between its pods, as `from -> to:port`: both ends must allow each. Also lists the half-open ones,
 * which only one end allows.
 */
export function arrows(manifests: Manifest[], ports: number[]): { open: string[]; halfOpen: string[] } {
  const all = components(manifests);
  const open: string[] = [];
  const halfOpen: string[] = [];
  for (const [from, fromLabels] of all) {
    for (const [to, toLabels] of all) {
      for (const port of ports) {
        const out = allows(manifests, fromLabels, 'egress', toLabels, port);
        const into = allows(manifests, toLabels, 'ingress', fromLabels, port);
        if (out && into) open.push(`${from} -> ${to}:${port}`);
        // A listener that admits everybody isn't half-open, whatever the other pods allow.
        else if (out || (into && !forEverybody(manifests, toLabels, port))) halfOpen.push(`${from} -> ${to}:${port}`);
      }
    }
  }
  return { open: open.toSorted(), halfOpen: halfOpen.toSorted() };
}

function forEverybody(manifests: Manifest[], labels: Labels, port: number): boolean {
  return rulesFor(manifests, labels, 'ingress')!.some(
    (rule) => !peersOf(rule, 'ingress') && (rule.ports as Manifest[]).some((each) => each.port === port),
  );
}

/** Lists what a component's policies allow beyond the release, as `peers:ports`: peers as JSON, or `anywhere`. */
export function outside(manifests: Manifest[], component: string, direction: Direction): string[] {
  const labels = components(manifests).get(component);
  if (!labels) throw new Error(`no pod of ${component}`);
  const rules = rulesFor(manifests, labels, direction);
  if (!rules) return ['everything'];
  const described = rules
    .filter((rule) => !peersOf(rule, direction)?.every((peer) => peer.podSelector && !peer.namespaceSelector))
    .map((rule) => {
      const ports = (rule.ports as Manifest[]).map((each) => `${each.port}${each.protocol === 'UDP' ? '/udp' : ''}`);
      return `${describePeers(peersOf(rule, direction))}:${ports.join(',')}`;
    });
  // Several policies may allow the same.
  return [...new Set(described)].toSorted();
}

function describePeers(peers: Manifest[] | undefined): string {
  if (!peers) return 'anywhere';
  return peers
    .map(({ namespaceSelector, podSelector, ipBlock }) =>
      ipBlock
        ? `${ipBlock.cidr}${ipBlock.except ? ` without ${ipBlock.except.length}` : ''}`
        : [namespaceSelector, podSelector]
            .flatMap((selector) => Object.values((selector?.matchLabels ?? {}) as Labels))
            .join('/'),
    )
    .join('+');
}

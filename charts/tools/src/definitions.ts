/** A JSON Schema (draft 7). */
export type Schema = { [key: string]: unknown };

const text = { type: 'string' };
const texts = { type: 'array', items: text };
const textMap = { type: 'object', additionalProperties: text };
const object = (properties: Record<string, Schema>, required: string[] = []): Schema => ({
  type: 'object',
  additionalProperties: false,
  properties,
  ...(required.length > 0 && { required }),
});
const positive = { type: 'integer', minimum: 1 };
const quantity = { type: ['string', 'number', 'null'] };
const labelSelector = object({
  matchLabels: textMap,
  matchExpressions: {
    type: 'array',
    items: object({ key: text, operator: { enum: ['In', 'NotIn', 'Exists', 'DoesNotExist'] }, values: texts }, [
      'key',
      'operator',
    ]),
  },
});
/** The services that other services call. Gateways are called from outside. */
const calledByServices = ['auth', 'calls', 'projects', 'entities', 'rate-limit'];
const withCertificate = ['api-gateway', 'tool-gateway', ...calledByServices, 'webhooks', 'crs'];
const each = (names: string[], schema: Schema) => object(Object.fromEntries(names.map((name) => [name, schema])));
const asKubernetesHasIt = { type: 'array', items: { $ref: '#/definitions/anything' } };
const peers = { type: 'array', items: { $ref: '#/definitions/peer' } };

const SELECTOR_LABELS = ['name', 'instance', 'component'].map((name) => `app.kubernetes.io/${name}`);

/** The values of a service that also apply to the pods of Jobs, and to the toolbox. In others, they would do nothing. */
const podValues = [
  ...['initContainers', 'sidecars', 'extraEnv', 'extraEnvFrom', 'extraVolumes', 'extraVolumeMounts'],
  ...['podSecurityContext', 'containerSecurityContext', 'serviceAccount', 'podAnnotations', 'podLabels'],
  ...['nodeSelector', 'tolerations', 'affinity', 'priorityClassName', 'podSpec'],
];
const subsetOfDefaults = (names: string[]) =>
  object(Object.fromEntries(names.map((name) => [name, { $ref: `#/properties/defaults/properties/${name}` }])));

/** The definitions that values refer to by `{"$ref": "#/definitions/NAME"}`. */
export const DEFINITIONS: Record<string, Schema> = {
  /** Only Kubernetes knows all keys of these objects; kubeconform and the API server check them. */
  anything: { type: 'object', additionalProperties: true },
  amounts: object({ cpu: quantity, memory: quantity, 'ephemeral-storage': quantity }),
  certificateSource: {
    oneOf: [{ required: ['configMap'] }, { required: ['secret'] }],
    ...object({ configMap: { ...text, minLength: 1 }, secret: { ...text, minLength: 1 }, key: text }),
  },
  /** `serviceUrl`: the address that services connect to if it differs from the one in the Secret, such as a pooler's. It has no credentials. */
  databasesApart: each(
    ['projects', 'calls', 'entities'],
    object(
      { existingSecret: { ...text, minLength: 1 }, key: text, serviceUrl: { ...text, pattern: '^(postgres(ql)?://[^@]+)?$' } },
      ['existingSecret'],
    ),
  ),
  dns: object({ to: peers, ports: { type: 'array', items: { $ref: '#/definitions/port' }, minItems: 1 } }),
  job: object(
    {
      schedule: { ...text, description: 'Cron expression. Without one, the job is started manually.' },
      timeZone: { ...text, description: 'Defaults to Etc/UTC.' },
      args: { ...texts, minItems: 1, description: 'Arguments of `crs`.' },
      operatorSecret: {
        ...text,
        description: "Secret with `operator.json` of the job's own operator. Defaults to that of the toolbox.",
      },
      resources: object({ requests: { $ref: '#/definitions/amounts' }, limits: { $ref: '#/definitions/amounts' } }),
      volumes: asKubernetesHasIt,
      volumeMounts: asKubernetesHasIt,
    },
    ['args'],
  ),
  jobPod: subsetOfDefaults([...podValues, 'logLevel']),
  toolboxPod: subsetOfDefaults([...podValues, 'annotations', 'revisionHistoryLimit']),
  parentRef: object({ name: text, namespace: text, sectionName: text, port: { type: 'integer' } }, ['name']),
  peer: {
    ...object({
      podSelector: labelSelector,
      namespaceSelector: labelSelector,
      ipBlock: object({ cidr: text, except: texts }, ['cidr']),
    }),
    minProperties: 1,
  },
  /** Selectors use the three labels, and can't be changed in a running release. */
  labels: { ...textMap, properties: Object.fromEntries(SELECTOR_LABELS.map((name) => [name, { not: {} }])) },
  port: { type: 'integer', minimum: 1, maximum: 65535 },
  /** By service: names of additional clients that it admits. The name is part of the name of their certificate's Secret. */
  tlsPeers: each(calledByServices, { type: 'array', items: { ...text, pattern: '^[a-z0-9]([-a-z0-9]{0,18}[a-z0-9])?$' } }),
  tlsSecrets: each(withCertificate, { ...text, minLength: 1 }),
  probe: object({
    ...Object.fromEntries(
      ['periodSeconds', 'timeoutSeconds', 'failureThreshold', 'terminationGracePeriodSeconds'].map((name) => [name, positive]),
    ),
    initialDelaySeconds: { type: 'integer', minimum: 0 },
  }),
  reference: object({ name: { ...text, minLength: 1 } }, ['name']),
  podSpec: object({
    dnsConfig: { $ref: '#/definitions/anything' },
    dnsPolicy: { type: 'string' },
    hostAliases: asKubernetesHasIt,
    hostUsers: { type: 'boolean' },
    runtimeClassName: { type: 'string' },
    schedulerName: { type: 'string' },
  }),
  toleration: object({
    key: text,
    operator: { enum: ['Exists', 'Equal', 'Lt', 'Gt'] },
    value: text,
    effect: { enum: ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] },
    tolerationSeconds: { type: 'integer' },
  }),
  topologySpread: object(
    {
      topologyKey: text,
      maxSkew: { type: 'integer', minimum: 1 },
      minDomains: { type: 'integer', minimum: 1 },
      whenUnsatisfiable: { enum: ['DoNotSchedule', 'ScheduleAnyway'] },
      nodeAffinityPolicy: { enum: ['Honor', 'Ignore'] },
      nodeTaintsPolicy: { enum: ['Honor', 'Ignore'] },
    },
    ['topologyKey', 'maxSkew', 'whenUnsatisfiable'],
  ),
};

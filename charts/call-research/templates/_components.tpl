{{/*
The properties of each component that values can't change. Environment variables, ports and NetworkPolicies follow from them.
  listeners: its ports by purpose
  dependsOn: the listeners of other components that it calls
  public: the key of its address in the value `publicUrls`
  secret: the keys of its Secret that it reads
  database.importConnections: the size of a second connection pool, which imports use. `databaseConnections` sets that of the first one
  redis: whether it connects to Redis
  outside: whether it connects to hosts outside the cluster
*/}}
{{- define "call-research.components" -}}
api-gateway:
  listeners: { http: 8080, health: 50053 }
  public: api
  dependsOn: { auth: [grpc], calls: [grpc], projects: [grpc], entities: [grpc], rate-limit: [grpc] }
tool-gateway:
  listeners: { http: 8081, health: 50053 }
  public: tools
  dependsOn: { auth: [grpc, http], calls: [grpc], projects: [grpc], entities: [grpc], rate-limit: [grpc] }
  secret: [CRS_SECRET]
auth:
  listeners: { grpc: 50051, admin: 50052, http: 8082, health: 50053 }
  dependsOn: {}
  secret: [DATABASE_URL, CRS_SECRET]
  # Imports of organizations and users are small, and use the first pool.
  database: { importConnections: 0 }
  # Fetches clients' metadata documents, and calls the organizations' OpenID providers.
  outside: true
calls:
  listeners: { grpc: 50051, admin: 50052, health: 50053 }
  dependsOn: { auth: [grpc] }
  secret: [DATABASE_URL]
  database: { importConnections: 3 }
projects:
  listeners: { grpc: 50051, admin: 50052, health: 50053 }
  dependsOn: { auth: [grpc] }
  secret: [DATABASE_URL]
  database: { importConnections: 3 }
entities:
  listeners: { grpc: 50051, admin: 50052, health: 50053 }
  dependsOn: { auth: [grpc] }
  secret: [DATABASE_URL]
  database: { importConnections: 3 }
{{- if .Values.webhooks.enabled }}
webhooks:
  listeners: { admin: 50052, health: 50053 }
  dependsOn: { auth: [grpc], calls: [grpc] }
  secret: [DATABASE_URL, CRS_SECRET, CRS_PROGRAM_CREDENTIAL]
  database: { importConnections: 0 }
  # Sends messages to the organizations' endpoints.
  outside: true
{{- end }}
rate-limit:
  listeners: { grpc: 50051, health: 50053 }
  dependsOn: {}
  redis: true
# The pod in which operators run `crs`.
crs: &crs
  listeners: {}
  # `crs status` calls the health listener of each service that has no admin listener.
  dependsOn: { auth: [admin], projects: [admin], calls: [admin], entities: [admin]{{ if .Values.webhooks.enabled }}, webhooks: [admin]{{ end }}, api-gateway: [health], tool-gateway: [health], rate-limit: [health] }
{{- /* The pods that run one `crs` command: of the values `jobs`, `retention` and `tenants`. */}}
{{- if or .Values.jobs .Values.retention.enabled .Values.tenants.organizations }}
job: *crs
{{- end }}
{{- if .Values.install.hook }}
test:
  listeners: {}
  # The pod of `helm test`. It calls both gateways by HTTP, and runs `crs status`.
  dependsOn: { auth: [admin], projects: [admin], calls: [admin], entities: [admin]{{ if .Values.webhooks.enabled }}, webhooks: [admin]{{ end }}, api-gateway: [http, health], tool-gateway: [http, health], rate-limit: [health] }
{{- end }}
{{- end }}

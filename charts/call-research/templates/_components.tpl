{{/*
The facts about the services that no value changes: the services that each one asks, its listeners and its Secret. Environment, ports and
NetworkPolicies are made from them.
*/}}
{{- define "call-research.components" -}}
api-gateway:
  listeners: { http: 8080, health: 50053 }
  public: api
  dependsOn: { auth: [grpc], calls: [grpc], projects: [grpc], rate-limit: [grpc] }
tool-gateway:
  listeners: { http: 8081, health: 50053 }
  public: tools
  dependsOn: { auth: [grpc, http], calls: [grpc], projects: [grpc], entities: [grpc], rate-limit: [grpc] }
  secret: true
auth:
  listeners: { grpc: 50051, admin: 50052, http: 8082, health: 50053 }
  dependsOn: {}
  secret: true
  # Connections for imports, besides the pool that `databaseConnections` sets; auth imports over its one pool.
  database: { importConnections: 0 }
  # Its clients' metadata documents and the organizations' OpenID providers.
  outside: true
calls:
  listeners: { grpc: 50051, admin: 50052, health: 50053 }
  dependsOn: { auth: [grpc] }
  secret: true
  database: { importConnections: 3 }
projects:
  listeners: { grpc: 50051, admin: 50052, health: 50053 }
  dependsOn: { auth: [grpc] }
  secret: true
  database: { importConnections: 3 }
entities:
  listeners: { grpc: 50051, admin: 50052, health: 50053 }
  dependsOn: { auth: [grpc] }
  secret: true
  database: { importConnections: 3 }
rate-limit:
  listeners: { grpc: 50051, health: 50053 }
  dependsOn: {}
  redis: true
# The operators' pod, their jobs, and the test of `helm test`.
crs: &crs
  listeners: {}
  # `crs status` asks the health of the services that have no admin listener.
  dependsOn: { auth: [admin], projects: [admin], calls: [admin], entities: [admin], api-gateway: [health], tool-gateway: [health], rate-limit: [health] }
{{- if .Values.jobs }}
job: *crs
{{- end }}
test:
  listeners: {}
  # It runs `crs status`, too.
  dependsOn: { auth: [admin], projects: [admin], calls: [admin], entities: [admin], api-gateway: [http, health], tool-gateway: [http, health], rate-limit: [health] }
{{- end }}

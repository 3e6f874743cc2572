{{/*
The components of an installation, apart from values: each one's listeners, Secret, and the listeners of others that it calls (`dependsOn`).
Environment variables, ports and NetworkPolicies follow from them.
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
  # The size of the second pool, for imports. Auth has only the pool that `databaseConnections` sets.
  database: { importConnections: 0 }
  # Fetches clients' metadata documents, and calls the organizations' OpenID providers.
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
# The pod in which operators run `crs`.
crs: &crs
  listeners: {}
  # `crs status` checks the health of services without an admin listener.
  dependsOn: { auth: [admin], projects: [admin], calls: [admin], entities: [admin], api-gateway: [health], tool-gateway: [health], rate-limit: [health] }
{{- if .Values.jobs }}
job: *crs
{{- end }}
test:
  listeners: {}
  # Also runs `crs status`.
  dependsOn: { auth: [admin], projects: [admin], calls: [admin], entities: [admin], api-gateway: [http, health], tool-gateway: [http, health], rate-limit: [health] }
{{- end }}

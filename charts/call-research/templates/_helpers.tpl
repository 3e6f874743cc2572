{{/* At most 40 characters, so that every name made of it stays under 63. */}}
{{- define "call-research.fullname" -}}
{{- $chart := .Values.nameOverride | default .Chart.Name -}}
{{- $name := printf "%s-%s" .Release.Name $chart -}}
{{- if .Values.fullnameOverride -}}
{{- $name = .Values.fullnameOverride -}}
{{- else if contains $chart .Release.Name -}}
{{- $name = .Release.Name -}}
{{- end -}}
{{- $name | trunc 40 | trimSuffix "-" -}}
{{- end }}

{{/* Selector labels, which never change during the life of a release. Takes (dict "root" $ "component" NAME). */}}
{{- define "call-research.selector" -}}
app.kubernetes.io/name: call-research
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/* Labels of pods. They lack the chart's version, because a new chart alone must not restart pods. Takes (dict "root" $ "component" NAME "labels"
ADDITIONAL). */}}
{{- define "call-research.podLabels" -}}
{{- $labels := dict "app.kubernetes.io/part-of" "call-research" "app.kubernetes.io/version" .root.Chart.AppVersion }}
{{- mergeOverwrite $labels (deepCopy .root.Values.commonLabels) (.labels | default dict) (include "call-research.selector" . | fromYaml) | toYaml }}
{{- end }}

{{/* An object's metadata. Takes (dict "root" $ "component" NAME "name" NAME "labels" ADDITIONAL "annotations" ADDITIONAL). The name defaults to
FULLNAME-COMPONENT. */}}
{{- define "call-research.metadata" -}}
name: {{ .name | default (printf "%s-%s" (include "call-research.fullname" .root) .component) }}
{{- /* For `helm template | kubectl apply`, where Helm doesn't choose the namespace. */}}
namespace: {{ .root.Release.Namespace }}
{{- $chart := dict "app.kubernetes.io/managed-by" .root.Release.Service "helm.sh/chart" (printf "%s-%s" .root.Chart.Name (.root.Chart.Version | replace "+" "_")) }}
labels:
  {{- mergeOverwrite $chart (include "call-research.podLabels" . | fromYaml) | toYaml | nindent 2 }}
{{- with mergeOverwrite (deepCopy .root.Values.commonAnnotations) (.annotations | default dict) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "call-research.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $image.repository $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $image.repository ($image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end }}

{{/* The environment of each of our processes, including the addresses of other services, such as `CRS_AUTH_ADDRESS`. Takes (dict "root" $ "dependsOn" SERVICES). */}}
{{- define "call-research.addresses" -}}
{{- $root := .root }}
{{- $components := include "call-research.components" $root | fromYaml }}
{{- $suffixes := dict "grpc" "ADDRESS" "admin" "ADMIN_ADDRESS" "http" "HTTP_ADDRESS" "health" "HEALTH_ADDRESS" }}
{{- range $target, $listeners := .dependsOn }}
{{- range $listeners }}
CRS_{{ $target | upper | replace "-" "_" }}_{{ get $suffixes . }}: {{ printf "%s-%s%s:%v" (include "call-research.fullname" $root) $target (eq . "health" | ternary "-health" "") (get (get $components $target).listeners .) }}
{{- end }}
{{- end }}
{{- if ne (include "call-research.tlsMode" $root) "off" }}
CRS_TLS_DIR: /etc/crs/tls
{{- end }}
{{- end }}

{{/* The setting that names the files of `trustedCertificates`. */}}
{{- define "call-research.trustedEnv" -}}
{{- if .Values.trustedCertificates }}
{{- $files := list }}
{{- range $at, $_ := .Values.trustedCertificates }}
{{- $files = append $files (printf "/etc/crs/trusted/%d.crt" $at) }}
{{- end }}
CRS_TRUSTED_CERTIFICATES: {{ join "," $files }}
{{- end }}
{{- end }}

{{/* The secrets of a process, as its environment: their values, or the paths of their files. Takes (dict "root" $ "secrets" SECRETS), a list of
(dict "name" VARIABLE "secret" SECRET "key" KEY). */}}
{{- define "call-research.secretEnv" -}}
{{- range .secrets }}
{{- if $.root.Values.secretsAsFiles }}
- name: {{ .name }}_FILE
  value: /etc/crs/secrets/{{ .name }}
{{- else }}
- name: {{ .name }}
  valueFrom:
    secretKeyRef:
      name: {{ .secret }}
      key: {{ .key }}
{{- end }}
{{- end }}
{{- end }}

{{/* The secrets of a service. Takes (dict "root" $ "component" NAME "spec" SPEC). */}}
{{- define "call-research.secretsOf" -}}
{{- range .spec.secret }}
- { name: {{ . }}, secret: {{ include "call-research.fullname" $.root }}-{{ $.component }}, key: {{ . }} }
{{- end }}
{{- if .spec.redis }}
- { name: REDIS_URL, secret: {{ .root.Values.redis.existingSecret }}, key: {{ .root.Values.redis.key }} }
{{- end }}
{{- end }}

{{/* Reads `off` without quotes, which is false in YAML, as `off`. */}}
{{- define "call-research.tlsMode" -}}
{{- .Values.tls.mode | toString | replace "false" "off" -}}
{{- end }}

{{/* The suffix of the clients' names in certificates, as in `api-gateway.crs-call-research.research.call-research`. It contains the release and the
namespace, because one CA may sign the certificates of several releases. */}}
{{- define "call-research.peerDomain" -}}
{{- printf "%s.%s.call-research" (include "call-research.fullname" .) .Release.Namespace -}}
{{- end }}

{{/* The components that get a certificate, separated by commas. The jobs and the test use the certificate of `crs`. */}}
{{- define "call-research.certificates" -}}
{{- $names := list }}
{{- range $name, $_ := include "call-research.components" . | fromYaml }}
{{- if not (has $name (list "job" "test")) }}
{{- $names = append $names $name }}
{{- end }}
{{- end }}
{{- range $_, $peers := .Values.tls.furtherPeers }}
{{- $names = concat $names $peers }}
{{- end }}
{{- $names | uniq | join "," -}}
{{- end }}

{{/* The Secret with the certificate of a component. Takes (dict "root" $ "component" NAME). */}}
{{- define "call-research.tlsSecret" -}}
{{- $mode := include "call-research.tlsMode" .root }}
{{- $host := printf "%s-%s" (include "call-research.fullname" .root) .component }}
{{- if eq $mode "secrets" -}}
{{- get .root.Values.tls.existingSecrets .component -}}
{{- else -}}
{{- printf "%s-%s" $host (eq $mode "self-signed" | ternary "mtls" "tls") -}}
{{- end -}}
{{- end }}

{{/* The volumes of each of our processes. Takes (dict "root" $ "component" NAME "settings" MERGED "secrets" SECRETS). */}}
{{- define "call-research.volumes" -}}
{{- if ne (include "call-research.tlsMode" .root) "off" }}
- name: tls
  secret:
    secretName: {{ include "call-research.tlsSecret" . }}
    defaultMode: 288 # 0440, which YAML 1.1 and 1.2 read differently
{{- end }}
{{- include "call-research.commonVolumes" . }}
{{- end }}

{{- define "call-research.volumeMounts" -}}
{{- if ne (include "call-research.tlsMode" .root) "off" }}
- name: tls
  mountPath: /etc/crs/tls
  readOnly: true
{{- end }}
{{- include "call-research.commonMounts" . }}
{{- end }}

{{/* The secrets as files, the trusted CAs and `extraVolumes`, which the install Job mounts, too. */}}
{{- define "call-research.commonVolumes" }}
{{- if and .secrets .root.Values.secretsAsFiles }}
- name: secrets
  projected:
    defaultMode: 288 # 0440, which YAML 1.1 and 1.2 read differently
    sources:
      {{- range .secrets }}
      - secret:
          name: {{ .secret }}
          items:
            - { key: {{ .key }}, path: {{ .name }} }
      {{- end }}
{{- end }}
{{- with .root.Values.trustedCertificates }}
- name: trusted
  projected:
    defaultMode: 292 # 0444
    sources:
      {{- range $at, $source := . }}
      - {{ hasKey $source "secret" | ternary "secret" "configMap" }}:
          name: {{ $source.secret | default $source.configMap }}
          items:
            - { key: {{ $source.key | default "ca.crt" }}, path: {{ $at }}.crt }
      {{- end }}
{{- end }}
{{- with .settings.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "call-research.commonMounts" }}
{{- if and .secrets .root.Values.secretsAsFiles }}
- name: secrets
  mountPath: /etc/crs/secrets
  readOnly: true
{{- end }}
{{- if .root.Values.trustedCertificates }}
- name: trusted
  mountPath: /etc/crs/trusted
  readOnly: true
{{- end }}
{{- with .settings.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Labels and annotations of a pod. Takes (dict "root" $ "component" NAME "settings" MERGED "annotations" OWN). */}}
{{- define "call-research.podMetadata" -}}
labels:
  {{- include "call-research.podLabels" (dict "root" .root "component" .component "labels" .settings.podLabels) | nindent 2 }}
{{- with merge (.annotations | default dict) .settings.podAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The settings of the pods of `install`, `renewal` or `toolbox`. Takes (dict "root" $ "of" NAME). */}}
{{- define "call-research.podSettings" -}}
{{- mergeOverwrite (deepCopy .root.Values.defaults) (get .root.Values .of).pod | toYaml -}}
{{- end }}

{{/* Additional containers of a pod. Takes MERGED settings. */}}
{{- define "call-research.sidecars" -}}
{{- with .sidecars }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The ServiceAccount of pods. Takes (dict "root" $ "component" NAME "settings" MERGED). */}}
{{- define "call-research.serviceAccount" -}}
{{- .settings.serviceAccount.name | default (printf "%s-%s" (include "call-research.fullname" .root) .component) -}}
{{- end }}

{{/* The address family of a Service, and its policy. Takes MERGED settings. */}}
{{- define "call-research.ipFamilies" }}
{{- with .service.ipFamilyPolicy }}
  ipFamilyPolicy: {{ . }}
{{- end }}
{{- with .service.ipFamilies }}
  ipFamilies: {{ toJson . }}
{{- end }}
{{- end }}

{{/* The common fields of pods. Takes (dict "root" $ "settings" MERGED). */}}
{{- define "call-research.pod" -}}
enableServiceLinks: false
{{- with concat (.root.Values.global.imagePullSecrets | default list) .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- toYaml .settings.podSecurityContext | nindent 2 }}
{{- with .settings.initContainers }}
initContainers:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .settings.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .settings.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .settings.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .settings.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .settings.podSpec }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The common fields of containers. Takes (dict "root" $ "settings" MERGED "resources" RESOURCES). */}}
{{- define "call-research.container" -}}
image: {{ include "call-research.image" .root | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
securityContext:
  {{- toYaml .settings.containerSecurityContext | nindent 2 }}
resources:
  {{- range $kind, $amounts := .resources }}
  {{ $kind }}:
    {{- range $resource, $amount := $amounts }}
    {{- /* Null would become a limit of 0. */}}
    {{- if not (or (kindIs "invalid" $amount) (eq (toString $amount) "")) }}
    {{ $resource }}: {{ $amount }}
    {{- end }}
    {{- end }}
  {{- end }}
{{- end }}

{{/* The largest number of pods of a service, without those of a rolling update. Takes the merged settings. */}}
{{- define "call-research.mostReplicas" -}}
{{- if or .autoscaling.enabled .autoscaling.external -}}{{ .autoscaling.maxReplicas }}{{- else -}}{{ .replicaCount }}{{- end -}}
{{- end }}

{{/* A service's settings, as the data of its ConfigMap. Takes (dict "root" $ "name" NAME "spec" SPEC "settings" MERGED). */}}
{{- define "call-research.config" -}}
{{- $values := .root.Values }}
{{- $config := include "call-research.addresses" (dict "root" .root "dependsOn" .spec.dependsOn) | fromYaml }}
{{- $config = merge $config (include "call-research.trustedEnv" .root | fromYaml) }}
{{- $listeners := .spec.listeners }}
{{- /* A socket on :: also accepts IPv4, but some nodes have no IPv6. */}}
{{- $ipv6 := or (has "IPv6" .settings.service.ipFamilies) (contains "DualStack" .settings.service.ipFamilyPolicy) }}
{{- $any := $ipv6 | ternary "[::]" "0.0.0.0" }}
{{- range $listener, $port := set (deepCopy $listeners) "ops" 9090 }}
{{- $main := or (eq $listener "grpc") (and (eq $listener "http") (not $listeners.grpc)) }}
{{- $_ := set $config ($main | ternary "CRS_LISTEN" (printf "CRS_%s_LISTEN" (upper $listener))) (printf "%s:%v" $any $port) }}
{{- end }}
{{- $_ := set $config "CRS_LOG_LEVEL" .settings.logLevel }}
{{- if .spec.public }}
{{- with $values.trustedProxies }}
{{- $_ := set $config "CRS_TRUSTED_PROXIES" (join "," .) }}
{{- end }}
{{- end }}
{{- if eq .name "api-gateway" }}
{{- $_ := set $config "CRS_API_URL" $values.publicUrls.api }}
{{- end }}
{{- if has .name (list "api-gateway" "tool-gateway" "auth") }}
{{- $_ := set $config "CRS_TOOLS_URL" $values.publicUrls.tools }}
{{- end }}
{{- if ne (include "call-research.tlsMode" .root) "off" }}
{{- $domain := include "call-research.peerDomain" .root }}
{{- $_ := set $config "CRS_TLS_PEER_DOMAIN" $domain }}
{{- $further := list }}
{{- range get $values.tls.furtherPeers .name | default list }}
{{- $further = append $further (printf "%s.%s" . $domain) }}
{{- end }}
{{- with $further }}
{{- $_ := set $config "CRS_TLS_FURTHER_PEERS" (join "," .) }}
{{- end }}
{{- end }}
{{- if .spec.redis }}
{{- $_ := set $config "CRS_REDIS_PREFIX" ($values.redis.keyPrefix | default (printf "%s/%s/" .root.Release.Namespace (include "call-research.fullname" .root))) }}
{{- end }}
{{- if .spec.database }}
{{- $_ := set $config "CRS_DATABASE_CONNECTIONS" .settings.databaseConnections }}
{{- end }}
{{- with $values.telemetry.otlpEndpoint }}
{{- $_ := set $config "OTEL_EXPORTER_OTLP_ENDPOINT" . }}
{{- end }}
{{- $_ := set $config "OTEL_RESOURCE_ATTRIBUTES" (printf "service.namespace=%s,service.version=%s,k8s.namespace.name=%s" .root.Release.Name .root.Chart.AppVersion .root.Release.Namespace) }}
{{- $_ := mergeOverwrite $config .settings.env }}
{{- range $key, $value := $config }}
{{ $key }}: {{ $value | toString | quote }}
{{- end }}
{{- end }}

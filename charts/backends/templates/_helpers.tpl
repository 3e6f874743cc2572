{{- define "backends.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}{{ .Release.Name }}{{- else -}}{{ .Release.Name }}-{{ .Chart.Name }}{{- end -}}
{{- end }}

{{/* Takes (dict "root" $ "component" NAME). */}}
{{- define "backends.selector" -}}
app.kubernetes.io/name: backends
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "backends.labels" -}}
{{ include "backends.selector" . }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name (.root.Chart.Version | replace "+" "_") }}
{{- end }}

{{- define "backends.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 999
  runAsGroup: 999
  fsGroup: 999
  seccompProfile:
    type: RuntimeDefault
{{- end }}

{{- define "backends.securityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{/* A password that is generated once, then read from the Secret. Takes (dict "root" $ "secret" NAME). */}}
{{- define "backends.password" -}}
{{- $existing := (lookup "v1" "Secret" .root.Release.Namespace .secret).data | default dict -}}
{{- if $existing.password -}}{{ $existing.password | b64dec }}{{- else -}}{{ randAlphaNum 40 }}{{- end -}}
{{- end }}

{{/* What the names of all objects begin with. */}}
{{- define "dashpot.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 48 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) | trunc 48 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "dashpot.scaler" -}}{{ include "dashpot.fullname" . }}-scaler{{- end -}}
{{- define "dashpot.adapter" -}}{{ include "dashpot.fullname" . }}-adapter{{- end -}}
{{/* A StatefulSet's pods carry its name with 11 characters more in a label of 63. */}}
{{- define "dashpot.trialRedis" -}}{{ include "dashpot.fullname" . | trunc 40 | trimSuffix "-" }}-trial-redis{{- end -}}

{{- define "dashpot.scalerServiceAccount" -}}
{{- default (include "dashpot.scaler" .) .Values.scaler.serviceAccount.name -}}
{{- end -}}
{{- define "dashpot.adapterServiceAccount" -}}
{{- default (include "dashpot.adapter" .) .Values.adapter.serviceAccount.name -}}
{{- end -}}

{{/* What selects the pods of a component: (list . "scaler"). */}}
{{- define "dashpot.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ default $root.Chart.Name $root.Values.nameOverride | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ $root.Release.Name | quote }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{/* The chart's own labels of an object of a component: (list . "scaler"). */}}
{{- define "dashpot.ownLabels" -}}
{{- $root := index . 0 -}}
{{ include "dashpot.selector" . }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* All labels of an object of a component: (list . "scaler"). */}}
{{- define "dashpot.labels" -}}
{{ include "dashpot.ownLabels" . }}
{{- with (index . 0).Values.additionalLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The environment that has Redis' URL, if there is one. */}}
{{- define "dashpot.redisEnv" -}}
{{- if .Values.redis.existingSecret }}
- name: DASHPOT_REDIS_URL
  valueFrom:
    secretKeyRef:
      name: {{ .Values.redis.existingSecret | quote }}
      key: {{ .Values.redis.existingSecretKey | quote }}
{{- else if .Values.redis.url }}
- name: DASHPOT_REDIS_URL
  value: {{ .Values.redis.url | quote }}
{{- else if .Values.redis.trial.enabled }}
- name: DASHPOT_REDIS_URL
  value: redis://{{ include "dashpot.trialRedis" . }}:6379
{{- end }}
{{- end -}}

{{/* Arguments of a program with a certificate. */}}
{{- define "dashpot.tlsArgs" -}}
- --tls-min-version={{ .Values.tlsMinVersion }}
{{- if .Values.httpTLS }}
- --http-tls
{{- end }}
{{- end -}}

{{/* Spread over nodes and zones as far as possible: (list . "scaler"). */}}
{{- define "dashpot.spread" -}}
{{- range $key := list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
- maxSkew: 1
  topologyKey: {{ $key }}
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels: {{- include "dashpot.selector" $ | nindent 6 }}
{{- end }}
{{- end -}}

{{/* A delegates file of a list of delegates; the text of a ca is a file beside it. */}}
{{- define "dashpot.delegates" -}}
{{- range . }}
{{- if .ca }}
{{ .name }}.crt: {{ .ca | quote }}
{{- end }}
{{- end }}
delegates.yaml: |
  delegates:
  {{- range . }}
  {{- $file := omit . "ca" }}
  {{- if .ca }}{{ $file = set $file "caFile" (printf "/etc/dashpot/delegates/%s.crt" .name) }}{{ end }}
  - {{- toYaml $file | nindent 4 }}
  {{- end }}
{{- end -}}

{{/* The Secret with the adapter's certificate. Helm and cert-manager have one each: what the
other has left behind is not renewed. */}}
{{- define "dashpot.adapterSecret" -}}
{{- $made := printf "%s-%s" (include "dashpot.adapter" .) (ternary "cert" "tls" .Values.certificates.certManager.enabled) -}}
{{- default $made .Values.certificates.existingSecret -}}
{{- end -}}

{{/* The DNS names of the adapter's certificate, as JSON. */}}
{{- define "dashpot.adapterNames" -}}
{{- $name := include "dashpot.adapter" . -}}
{{- toJson (list (printf "%s.%s.svc" $name .Release.Namespace) (printf "%s.%s" $name .Release.Namespace)) -}}
{{- end -}}

{{/* The API groups that delegates serve, as JSON. */}}
{{- define "dashpot.delegateGroups" -}}
{{- $groups := list -}}
{{- range . -}}
{{- $groups = append $groups (default "external.metrics.k8s.io/v1beta1" .groupVersion | splitList "/" | first) -}}
{{- end -}}
{{- $groups | uniq | toJson -}}
{{- end -}}

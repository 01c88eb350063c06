{{/* Rules of both programs that are asked for. */}}
{{- define "dashpot.optionalRules" -}}
{{- if .Values.rbac.podMetrics }}
# For triggers of type cpu and memory: pods, what they use, and which belong to a target.
- apiGroups: [""]
  resources: [pods]
  verbs: [list, watch]
- apiGroups: [metrics.k8s.io]
  resources: [pods]
  verbs: [list]
- apiGroups: ["*"]
  resources: ["*/scale"]
  verbs: [get]
{{- end }}
{{- if has "*" .Values.rbac.secretNamespaces }}
# Those that a StabilizedMetric's secretRef names.
- apiGroups: [""]
  resources: [secrets]
  verbs: [get]
{{- end }}
{{- end -}}

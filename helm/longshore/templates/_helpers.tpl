{{/* The name of all objects of the controller, including its Lease, its field manager and its policies. */}}
{{- define "longshore.name" -}}longshore-controller{{- end -}}

{{/* The name of cluster-wide objects, unique for every release. */}}
{{- define "longshore.clusterName" -}}{{ include "longshore.name" . }}.{{ .Release.Namespace }}{{- end -}}

{{- define "longshore.user" -}}system:serviceaccount:{{ .Release.Namespace }}:{{ include "longshore.name" . }}{{- end -}}

{{- define "longshore.nodesService" -}}{{ .Release.Name }}-nodes{{- end -}}

{{- define "longshore.consoleService" -}}{{ .Release.Name }}-console{{- end -}}

{{- define "longshore.selector" -}}
app.kubernetes.io/name: longshore-controller
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "longshore.labels" -}}
{{ include "longshore.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: longshore
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* Labels of auxiliary objects. The selector of the controller's pods must not match them. */}}
{{- define "longshore.helperLabels" -}}
app.kubernetes.io/name: {{ .name }}
{{ regexReplaceAll "app.kubernetes.io/name:[^\n]*\n" (include "longshore.labels" .root) "" }}
{{- end -}}

{{/* The image reference. Argument: {image, root}. */}}
{{- define "longshore.image" -}}
{{- if .image.digest -}}{{ .image.repository }}@{{ .image.digest }}
{{- else -}}{{ .image.repository }}:{{ .image.tag | default .root.Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* The namespaces that are served if clusterWide is false, as a list in JSON. */}}
{{- define "longshore.namespaces" -}}
{{ prepend .Values.watchNamespaces .Release.Namespace | uniq | sortAlpha | toJson }}
{{- end -}}

{{- define "longshore.caSecret" -}}
{{- if eq .Values.certificates.source "Secret" -}}{{ .Values.certificates.secretName }}{{- else -}}{{ include "longshore.name" . }}-ca{{- end -}}
{{- end -}}

{{/* Security contexts that meet the restricted Pod Security Standard. */}}
{{- define "longshore.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile: {type: RuntimeDefault}
{{- end -}}
{{- define "longshore.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{/* Placement and pull secrets of the release's pods. */}}
{{- define "longshore.placement" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{ toJson . }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{ toJson . }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}

{{/* A policy's condition: the request comes from the controller's account. */}}
{{- define "longshore.ours" -}}
- {name: controller, expression: "request.userInfo.username == '{{ include "longshore.user" . }}'"}
{{- end -}}
{{/* Restricts a policy to the namespaces in which the controller has rights. */}}
{{- define "longshore.where" -}}
{{- if not .Values.clusterWide -}}
namespaceSelector:
  matchExpressions:
  - {key: kubernetes.io/metadata.name, operator: In, values: {{ include "longshore.namespaces" . }}}
{{- end -}}
{{- end -}}

{{/* The prefixes of allowed images, as a CEL list. A repository is followed by ":" and a tag, or by "@" and a digest. */}}
{{- define "longshore.imagePrefixes" -}}
{{- $prefixes := list -}}
{{- range prepend .Values.admissionPolicy.images .Values.node.image.repository | uniq -}}
{{- if hasSuffix "/" . -}}{{- $prefixes = append $prefixes . -}}
{{- else -}}{{- $prefixes = concat $prefixes (list (printf "%s:" .) (printf "%s@" .)) -}}
{{- end -}}
{{- end -}}
{{- toJson $prefixes -}}
{{- end -}}

{{/* Binding of a policy. Arguments: {name, root, params}. If params is true, each ServingFleet of the namespace is a parameter. */}}
{{- define "longshore.binding" }}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {{ .name }}
  labels:
    {{- include "longshore.labels" .root | nindent 4 }}
spec:
  policyName: {{ .name }}
  validationActions: [Deny]
  {{- if .params }}
  paramRef: {selector: {}, parameterNotFoundAction: Allow}
  {{- end }}
{{- end }}

{{- define "gantt.selector" -}}
app.kubernetes.io/name: gantt
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .name }}
{{- end }}

{{- define "gantt.labels" -}}
{{ include "gantt.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "gantt.name" -}}
{{ .root.Release.Name }}-{{ .name }}
{{- end }}

{{- define "gantt.image" -}}
{{- with .Values.image -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end -}}
{{- end -}}
{{- end }}

{{- /* The options of a service: those of all services, its own, and the port of its metrics. */ -}}
{{- define "gantt.options" -}}
{{- $metrics := dict "metrics" (dict "listen" (printf "0.0.0.0:%d" (int .root.Values.metricsPort))) -}}
{{- range $group, $options := mergeOverwrite $metrics (deepCopy .root.Values.config) (deepCopy .service.config) }}
{{- if $options }}
[{{ $group }}]
{{- range $option, $value := $options }}
{{- /* Helm reads every number as a float, and would write large ones with an exponent. */}}
{{- $isWhole := and (kindIs "float64" $value) (eq (floor $value) $value) }}
{{ $option }} = {{ if $isWhole }}{{ int64 $value }}{{ else }}{{ $value }}{{ end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "gantt.configmap" -}}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ include "gantt.name" . }}
  labels:
    {{- include "gantt.labels" . | nindent 4 }}
data:
  gantt.conf: |
    {{- include "gantt.options" . | nindent 4 }}
{{- end }}

{{- /* The pod of a service; .stateFolder is the node's folder of an agent, or empty. */ -}}
{{- define "gantt.pod" -}}
metadata:
  labels:
    {{- include "gantt.labels" . | nindent 4 }}
  annotations:
    checksum/config: {{ include "gantt.options" . | sha256sum }}
spec:
  serviceAccountName: {{ .root.Release.Name }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ .root.Values.terminationGracePeriodSeconds }}
  {{- with .root.Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with .root.Values.image.pullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .service.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .service.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 64000
    runAsGroup: 64000
    fsGroup: 64000
    seccompProfile:
      type: RuntimeDefault
  {{- if not .stateFolder }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "gantt.selector" . | nindent 10 }}
  {{- end }}
  containers:
    - name: {{ .name }}
      image: {{ include "gantt.image" .root }}
      imagePullPolicy: {{ .root.Values.image.pullPolicy }}
      args:
        - gantt-{{ .name }}
        - --config-file=/etc/gantt/gantt.conf
        - --config-file=/etc/gantt/secrets.conf
      {{- if .stateFolder }}
      env:
        - name: OS_COMPUTE__HOSTS
          valueFrom:
            fieldRef:
              fieldPath: spec.nodeName
        - name: STATE_DIRECTORY
          value: /var/lib/gantt-compute
      {{- end }}
      ports:
        - name: metrics
          containerPort: {{ .root.Values.metricsPort }}
        {{- with .service.port }}
        - name: http
          containerPort: {{ . }}
        {{- end }}
      # While bus or store are away a daemon lives and is not ready: no restart would help.
      livenessProbe:
        httpGet: {path: /healthz, port: metrics}
        initialDelaySeconds: 30
        timeoutSeconds: 5
        periodSeconds: 20
      readinessProbe:
        httpGet: {path: /readyz, port: metrics}
        timeoutSeconds: 5
      resources:
        {{- toYaml .service.resources | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      volumeMounts:
        - name: config
          mountPath: /etc/gantt
          readOnly: true
        - name: tmp
          mountPath: /tmp
        {{- if .stateFolder }}
        - name: state
          mountPath: /var/lib/gantt-compute
        {{- end }}
  volumes:
    - name: config
      projected:
        defaultMode: 0440
        sources:
          - configMap:
              name: {{ include "gantt.name" . }}
          - secret:
              name: {{ .service.secretName }}
    - name: tmp
      emptyDir:
        sizeLimit: 64Mi
    {{- with .stateFolder }}
    - name: state
      hostPath:
        path: {{ . }}
        type: Directory
    {{- end }}
{{- end }}

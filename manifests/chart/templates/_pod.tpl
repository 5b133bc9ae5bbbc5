{{/* The probe of a path: its address, and the settings of the values. */}}
{{- define "vzones.probe" -}}
httpGet: {scheme: HTTPS, {{ if .root.Values.hostNetwork }}host: 127.0.0.1, {{ end }}path: {{ .path }}, port: {{ .root.Values.port }}}
{{- with .settings }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Whether only the probes ask the daemon, on the Node's own address: nothing in the values opens the port. */}}
{{- define "vzones.isLocal" -}}
{{- if and .Values.hostNetwork (not .Values.serviceMonitor.enabled) (not (regexMatch "(^| )--bind[-_]address" (join " " .Values.extraArgs))) -}}true{{- end -}}
{{- end -}}

{{- define "vzones.args" -}}
- --cloud-provider=vsphere
{{- with .Values.configSecret }}
{{- if .name }}
- {{ printf "--cloud-config-secret=%s/%s%s" .namespace .name (empty .key | ternary "" (printf ":%s" .key)) }}
{{- else }}
- --cloud-config=/etc/cloud/vsphere.conf
{{- end }}
{{- end }}
- --profiling=false
- --v={{ .Values.logging.verbosity }}
{{- if ne .Values.logging.format "text" }}
- --logging-format={{ .Values.logging.format }}
{{- end }}
{{- if include "vzones.isLocal" . }}
- --bind-address=127.0.0.1
{{- end }}
{{- if ne (.Values.port | int) 10258 }}
- --secure-port={{ .Values.port }}
{{- end }}
{{- with .Values.leaderElection }}
{{- if not .enabled }}
- --leader-elect=false
{{- else }}
{{- if ne .resourceName "cloud-controller-manager" }}
- --leader-elect-resource-name={{ .resourceName }}
{{- end }}
{{- if ne .resourceNamespace "kube-system" }}
- --leader-elect-resource-namespace={{ .resourceNamespace }}
{{- end }}
{{- with .leaseDuration }}
- --leader-elect-lease-duration={{ . }}
{{- end }}
{{- with .renewDeadline }}
- --leader-elect-renew-deadline={{ . }}
{{- end }}
{{- with .retryPeriod }}
- --leader-elect-retry-period={{ . }}
{{- end }}
{{- end }}
{{- end }}
{{- with .Values.kubeconfig }}
{{- if .secretName }}
- --kubeconfig={{ .mountPath }}/kubeconfig
- --authentication-kubeconfig={{ .mountPath }}/kubeconfig
- --authorization-kubeconfig={{ .mountPath }}/kubeconfig
{{- end }}
{{- end }}
{{- with .Values.extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* 90 % of a quantity of memory as Go writes it, for the units that quantities of memory have. */}}
{{- define "vzones.goMemory" -}}
{{- $limit := kindIs "string" . | ternary . (int64 . | toString) -}}
{{- $n := regexFind "^[0-9]+" $limit | int64 -}}
{{- $unit := regexReplaceAll "^[0-9]+" $limit "" -}}
{{- $units := dict "" 1 "k" 1000 "M" 1000000 "G" 1000000000 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 -}}
{{- if and $n (hasKey $units $unit) -}}
{{- div (div (mul $n (get $units $unit) 9) 10) 1048576 }}MiB
{{- end -}}
{{- end -}}

{{- define "vzones.env" -}}
{{- if not .Values.kubeconfig.secretName }}
# An Event on this Pod reports a configuration that is rejected.
- name: POD_NAME
  valueFrom: {fieldRef: {fieldPath: metadata.name}}
- name: POD_NAMESPACE
  valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
- name: POD_UID
  valueFrom: {fieldRef: {fieldPath: metadata.uid}}
{{- end }}
{{- $own := dict -}}
{{- range .Values.extraEnv }}{{- $own = set $own .name true -}}{{- end }}
{{- with ((.Values.resources | default dict).limits | default dict).memory }}
{{- with include "vzones.goMemory" . }}
{{- if not $own.GOMEMLIMIT }}
# Memory is collected more often near 90 % of the limit.
- name: GOMEMLIMIT
  value: {{ . }}
{{- end }}
{{- end }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "vzones.affinity" -}}
{{- with .Values.affinity }}
{{- toYaml . }}
{{- end }}
{{- if and (eq .Values.workload.kind "Deployment") (not (dig "podAntiAffinity" "" (.Values.affinity | default dict))) }}
podAntiAffinity:
  preferredDuringSchedulingIgnoredDuringExecution:
  - weight: 100
    podAffinityTerm:
      topologyKey: kubernetes.io/hostname
      labelSelector:
        matchLabels:
          name: {{ include "vzones.fullname" . | toYaml }}
{{- end -}}
{{- end -}}

{{- define "vzones.tolerations" -}}
{{- if not .Values.kubeconfig.secretName }}
# The Nodes of a new cluster have these taints until the daemon has initialized them.
- key: node.cloudprovider.kubernetes.io/uninitialized
  operator: Exists
  effect: NoSchedule
- key: node-role.kubernetes.io/control-plane
  operator: Exists
  effect: NoSchedule
- key: node-role.kubernetes.io/master
  operator: Exists
  effect: NoSchedule
- key: node.kubernetes.io/not-ready
  operator: Exists
- key: node.kubernetes.io/unreachable
  operator: Exists
- key: node.kubernetes.io/network-unavailable
  operator: Exists
  effect: NoSchedule
{{- end }}
{{- with .Values.tolerations }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "vzones.volumeMounts" -}}
{{- if not .Values.configSecret.name }}
- name: config
  mountPath: /etc/cloud
  readOnly: true
{{- end }}
{{- if .Values.kubeconfig.secretName }}
- name: kubeconfig
  mountPath: {{ .Values.kubeconfig.mountPath }}
  readOnly: true
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "vzones.volumes" -}}
{{- if not .Values.configSecret.name }}
- name: config
  configMap:
    name: {{ .Values.existingConfigMap | default .Values.configMapName | toYaml }}
{{- end }}
{{- with .Values.kubeconfig }}
{{- if .secretName }}
- name: kubeconfig
  projected:
    sources:
    - secret:
        name: {{ .secretName | toYaml }}
        items:
        - key: {{ .key | toYaml }}
          path: kubeconfig
    {{- with .tokenSecretName }}
    - secret:
        name: {{ toYaml . }}
        items:
        - key: token
          path: token
    {{- end }}
{{- end }}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "vzones.pod" -}}
{{- if .Values.kubeconfig.secretName }}
# The cluster is not this one: the kubeconfig says who the daemon is.
automountServiceAccountToken: false
{{- else }}
serviceAccountName: {{ .Values.serviceAccount.name | toYaml }}
{{- end }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
{{ toYaml . }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ toYaml . }}
{{- end }}
# A Service may have a name whose variables look like the daemon's own settings.
enableServiceLinks: false
{{- if .Values.hostNetwork }}
# A new cluster's Nodes have no Pod network until they are initialized, and
# are initialized by this Pod.
hostNetwork: true
{{- end }}
dnsPolicy: {{ .Values.dnsPolicy }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with include "vzones.affinity" . | trim }}
affinity:
  {{- . | nindent 2 }}
{{- end }}
{{- with include "vzones.tolerations" . | trim }}
tolerations:
{{ . }}
{{- end }}
terminationGracePeriodSeconds: {{ .Values.workload.terminationGracePeriodSeconds }}
{{- with .Values.podSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
containers:
- name: {{ include "vzones.name" . | toYaml }}
  # Write the image that you have built, with its tag and, better, its digest:
  # registry.example.com/vsphere-cloud-controller-manager:v1.37.0@sha256:…
  image: {{ include "vzones.image" . | toYaml }}
  {{- with .Values.image.pullPolicy }}
  imagePullPolicy: {{ . }}
  {{- end }}
  terminationMessagePolicy: FallbackToLogsOnError # vzones check shows the message.
  args:
  {{- include "vzones.args" . | nindent 2 }}
  {{- with include "vzones.env" . | trim }}
  env:
  {{- . | nindent 2 }}
  {{- end }}
  {{- with .Values.securityContext }}
  securityContext:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  ports:
  - name: https
    containerPort: {{ .Values.port }}
  livenessProbe:
    {{- include "vzones.probe" (dict "root" . "path" "/healthz" "settings" .Values.livenessProbe) | nindent 4 }}
  # Ready once each vCenter was read or is known to be down; a vCenter that
  # is down later changes neither probe.
  readinessProbe:
    {{- include "vzones.probe" (dict "root" . "path" "/readyz" "settings" .Values.readinessProbe) | nindent 4 }}
  {{- with .Values.resources }}
  resources:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with include "vzones.volumeMounts" . | trim }}
  volumeMounts:
  {{- . | nindent 2 }}
  {{- end }}
{{- with include "vzones.volumes" . | trim }}
volumes:
{{ . }}
{{- end }}
{{- end -}}

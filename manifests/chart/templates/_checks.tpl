{{/* Fails where a caFile is one of the chart's and there is none of that name. */}}
{{- define "vzones.checkFiles" -}}
{{- $config := include "vzones.config" . | fromJson -}}
{{- $sections := list ($config.global | default dict) -}}
{{- range values ($config.vcenter | default dict) -}}{{- $sections = append $sections . -}}{{- end -}}
{{- range $sections -}}
{{- range splitList ":" (.caFile | default "" | toString) -}}
{{- if and (hasPrefix "/etc/cloud/" .) (empty (get ($.Values.certificateAuthorities | default dict) (trimPrefix "/etc/cloud/" .))) -}}
{{- fail (printf "config: caFile is %s: write the certificate under certificateAuthorities, with the name %s" . (trimPrefix "/etc/cloud/" .)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Fails without the name of an image: a name without a registry would be one of Docker Hub. */}}
{{- define "vzones.checkImage" -}}
{{- if not .Values.image.repository -}}
{{- fail "image.repository is empty: build the image, push it to your registry, and set its name there, such as registry.example.com/vsphere-cloud-controller-manager; no image is published" -}}
{{- end -}}
{{- end -}}

{{/* Fails where two daemons could work at once. */}}
{{- define "vzones.checkElection" -}}
{{- if not .Values.leaderElection.enabled -}}
{{- if or (ne .Values.workload.kind "Deployment") (gt (.Values.workload.replicas | int) 1) -}}
{{- fail "leaderElection.enabled is false: only one daemon may run then: set workload.kind to Deployment, and workload.replicas to 1" -}}
{{- end -}}
{{- with .Values.workload.updateStrategy -}}
{{- if ne (.type | default "") "Recreate" -}}
{{- fail "leaderElection.enabled is false: only one daemon may run then: set workload.updateStrategy.type to Recreate, or leave updateStrategy out" -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Fails where rights for a daemon would be given in a cluster that it does not work in. */}}
{{- define "vzones.checkElsewhere" -}}
{{- if .Values.kubeconfig.secretName -}}
{{- if .Values.rbac.create -}}
{{- fail "kubeconfig.secretName: the daemon works in another cluster, and roles of this release would be in this one: set rbac.create to false, and install the chart in that cluster with workload.kind: None" -}}
{{- end -}}
{{- if and .Values.serviceMonitor.enabled .Values.serviceMonitor.prometheus -}}
{{- fail "serviceMonitor.prometheus: the right to read /metrics is one of the cluster of kubeconfig.secretName, and cannot be given in this one: leave it out" -}}
{{- end -}}
{{- end -}}
{{- if and .Values.serviceMonitor.enabled .Values.serviceMonitor.prometheus (not .Values.serviceMonitor.tokenSecretName) -}}
{{- fail "serviceMonitor.prometheus: the chart makes an account of its own unless tokenSecretName is set: leave it out" -}}
{{- end -}}
{{- end -}}

{{/* Fails for a further flag that the Pod, the roles or the probes would not know of. */}}
{{- define "vzones.checkArgs" -}}
{{- $instead := dict
  "secure-port" "the probes and the Service have the port too: set port"
  "leader-elect" "set leaderElection.enabled"
  "leader-elect-resource-name" "the Role has that name too: set leaderElection.resourceName"
  "leader-elect-resource-namespace" "the Role is in that namespace too: set leaderElection.resourceNamespace"
  "leader-elect-lease-duration" "set leaderElection.leaseDuration"
  "leader-elect-renew-deadline" "set leaderElection.renewDeadline"
  "leader-elect-retry-period" "set leaderElection.retryPeriod"
  "cloud-config" "the chart mounts that file: set config or existingConfigMap"
  "cloud-config-secret" "the Role needs that Secret too: set configSecret"
  "cloud-provider" "it is vsphere"
  "kubeconfig" "the chart mounts that file: set kubeconfig.secretName"
  "authentication-kubeconfig" "the chart mounts that file: set kubeconfig.secretName"
  "authorization-kubeconfig" "the chart mounts that file: set kubeconfig.secretName"
  "bind-address" "what asks the daemon does not reach it there: leave it out, or set 0.0.0.0 or ::"
-}}
{{- $right := list "leader-elect" "bind-address=0.0.0.0" "bind-address=::" -}}
{{- if .Values.leaderElection.enabled -}}{{- $right = append $right "leader-elect=true" -}}
{{- else -}}{{- $right = without (append $right "leader-elect=false") "leader-elect" -}}{{- end -}}
{{- if and .Values.hostNetwork (not .Values.serviceMonitor.enabled) -}}{{- $right = append $right "bind-address=127.0.0.1" -}}{{- end -}}
{{- range .Values.extraArgs -}}
{{- $flag := trimPrefix "--" . -}}
{{- $name := splitList "=" $flag | first | replace "_" "-" -}}
{{- $same := trimPrefix (splitList "=" $flag | first) $flag | printf "%s%s" $name -}}
{{- if and (hasKey $instead $name) (not (has $same $right)) -}}
{{- fail (printf "extraArgs: %s: %s" . (get $instead $name)) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "vzones.name" -}}
{{- .Values.nameOverride | default "vsphere-cloud-controller-manager" -}}
{{- end -}}

{{- define "vzones.fullname" -}}
{{- .Values.fullnameOverride | default (include "vzones.name" .) -}}
{{- end -}}

{{- define "vzones.image" -}}
{{- .Values.image.repository -}}
{{- if or .Values.image.tag (not .Values.image.digest) -}}:{{ .Values.image.tag | default .Chart.AppVersion }}{{- end -}}
{{- with .Values.image.digest }}@{{ . }}{{ end -}}
{{- end -}}

{{/* Labels of an object, of a list of mappings: the first that has a key counts. */}}
{{- define "vzones.labels" -}}
{{- $all := dict -}}
{{- range . -}}{{- $all = merge $all (deepCopy (. | default dict)) -}}{{- end -}}
{{- with $all }}
  labels:
    {{- toYaml . | nindent 4 }}
{{- end -}}
{{- end -}}

{{- define "vzones.podLabels" -}}
name: {{ include "vzones.fullname" . | toYaml }}
component: cloud-controller-manager
tier: control-plane
{{- end -}}

{{/* Who gets the roles. */}}
{{- define "vzones.subjects" -}}
{{- if .Values.rbac.subjects -}}
{{- toYaml .Values.rbac.subjects -}}
{{- else -}}
- kind: ServiceAccount
  name: {{ .Values.serviceAccount.name | toYaml }}
  namespace: {{ .Release.Namespace | toYaml }}
{{- end -}}
{{- end -}}

{{/* The configuration, as JSON, without the vCenters that a later values file has set to null:
Helm takes these away only where they are the chart's own. Other spellings of keys that the
templates look at are those of the reference here. */}}
{{- define "vzones.config" -}}
{{- $config := deepCopy (.Values.config | default dict) -}}
{{- $sections := list ($config.global | default dict) -}}
{{- range $name, $entry := $config.vcenter | default dict -}}
{{- if kindIs "invalid" $entry -}}{{- $_ := unset $config.vcenter $name -}}
{{- else -}}{{- $sections = append $sections $entry -}}{{- end -}}
{{- end -}}
{{- range $section := $sections -}}
{{- range $other, $key := dict "secret-name" "secretName" "secret-namespace" "secretNamespace" "ca-file" "caFile" -}}
{{- if hasKey $section $other -}}
{{- if not (get $section $key) -}}{{- $_ := set $section $key (get $section $other) -}}{{- end -}}
{{- $_ := unset $section $other -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $config -}}
{{- end -}}

{{/* What two ways to write one vCenter's address have in common. */}}
{{- define "vzones.address" -}}
{{- .server | toString | lower | trimSuffix "." | trimPrefix "[" | trimSuffix "]" -}}:{{- .port | int -}}
{{- end -}}

{{/* The vCenters of the configuration, as JSON: server, Secret and its namespace of each. As
the daemon reads it, an entry takes the Secret of global where it names none itself, and the
server of global is one more vCenter unless an entry is it. */}}
{{- define "vzones.vcenters" -}}
{{- $config := include "vzones.config" . | fromJson -}}
{{- $global := $config.global | default dict -}}
{{- $all := list -}}
{{- $known := list -}}
{{- $port := $global.port | default 443 -}}
{{- range $name, $entry := $config.vcenter | default dict -}}
{{- $known = append $known (include "vzones.address" (dict "server" ($entry.server | default $name) "port" ($entry.port | default $port))) -}}
{{- $from := ternary $entry $global (not (empty $entry.secretName)) -}}
{{- $all = append $all (dict "server" ($entry.server | default $name | toString) "secret" ($from.secretName | default "" | toString) "namespace" ($from.secretNamespace | default "" | toString)) -}}
{{- end -}}
{{- with $global.server -}}
{{- if not (or (hasKey ($config.vcenter | default dict) (. | toString)) (has (include "vzones.address" (dict "server" . "port" $port)) $known)) -}}
{{- $all = append $all (dict "server" (. | toString) "secret" ($global.secretName | default "" | toString) "namespace" ($global.secretNamespace | default "" | toString)) -}}
{{- end -}}
{{- end -}}
{{- toJson $all -}}
{{- end -}}

{{/* The Secrets that the daemon follows, as JSON: for each namespace the names. */}}
{{- define "vzones.secrets" -}}
{{- $all := dict -}}
{{- range include "vzones.vcenters" . | fromJsonArray -}}
{{- if and .secret .namespace -}}
{{- $_ := set $all .namespace (append (get $all .namespace | default list) .secret) -}}
{{- end -}}
{{- end -}}
{{- $further := .Values.rbac.secrets | default list -}}
{{- with .Values.configSecret -}}{{- if .name -}}{{- $further = append $further . -}}{{- end -}}{{- end -}}
{{- range $further -}}
{{- $_ := set $all .namespace (append (get $all .namespace | default list) .name) -}}
{{- end -}}
{{- range $namespace, $names := $all -}}
{{- $_ := set $all $namespace ($names | uniq | sortAlpha) -}}
{{- end -}}
{{- toJson $all -}}
{{- end -}}

{{/* Whether Nodes may be deleted: true or empty. The variable counts with any value. */}}
{{- define "vzones.deletesNodes" -}}
{{- if eq (.Values.rbac.deleteNodes | toString) "auto" -}}
{{- $skips := ((.Values.config | default dict).nodes | default dict).skipDeletion -}}
{{- range .Values.extraEnv -}}{{- if eq .name "SKIP_NODE_DELETION" -}}{{- $skips = true -}}{{- end -}}{{- end -}}
{{- if not $skips }}true{{ end -}}
{{- else if .Values.rbac.deleteNodes -}}true
{{- end -}}
{{- end -}}

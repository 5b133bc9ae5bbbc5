{{- /*
What the search looks through: the pages, and their sections with the number of their page,
the heading, its anchor and the text. It is a script, since a page that is read from a
folder may load no other kind of file.
*/ -}}
{{- $pages := slice -}}
{{- $sections := slice -}}
{{- range $number, $page := slice site.Home | append site.RegularPages -}}
  {{- $url := strings.TrimPrefix "/" .RelPermalink | default "index.html" -}}
  {{- $pages = $pages | append (dict "title" (partial "title.html" .) "url" $url) -}}
  {{- $html := replaceRE `</t[dhr]>|</li>|</p>|</pre>|<br>` " $0" .Content -}}
  {{- $html = replaceRE `<h([1-6]) id="` "\x1e$0" $html -}}
  {{- $html = replaceRE `<a class="anchor"[^>]*>[^<]*</a>` "" $html -}}
  {{- range after 1 (split $html "\x1e") -}}
    {{- $parts := findRESubmatch `(?s)^<h[1-6] id="([^"]*)">(.*?)</h[1-6]>(.*)$` . 1 -}}
    {{- $text := index $parts 0 3 | plainify | htmlUnescape -}}
    {{- $sections = $sections | append (dict "page" $number "anchor" (index $parts 0 1) "heading" (index $parts 0 2 | plainify | htmlUnescape | strings.TrimSpace) "text" (replaceRE `\s+` " " $text | strings.TrimSpace)) -}}
  {{- end -}}
{{- end -}}
window.vzonesSearchIndex = {{ dict "pages" $pages "sections" $sections | jsonify }};

// What the language server of YAML, which VS Code, Neovim and others have, finds in files
// with the schema of the configuration: docs/how-to/write-the-configuration-in-an-editor.md.
// make editors runs it. The files are those of the tests of package config.
import { spawn } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { createRequire } from "node:module";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const schema = pathToFileURL(join(root, "docs/reference/configuration.schema.json")).href;
const require = createRequire(join(root, "bin/editors/package.json"));
const server = join(dirname(require.resolve("yaml-language-server/package.json")), "bin/yaml-language-server");
const child = spawn(process.execPath, [server, "--stdio"], { stdio: ["pipe", "pipe", "inherit"] });

// The protocol: JSON behind a header with its length.
let buffer = Buffer.alloc(0);
const waiting = new Map();
const published = new Map();
let id = 0;
const write = (message) => {
  const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }));
  child.stdin.write(`Content-Length: ${body.length}\r\n\r\n`);
  child.stdin.write(body);
};
const call = (method, params) => new Promise((done) => {
  waiting.set(++id, done);
  write({ id, method, params });
});
const settings = {
  validate: true, completion: true, hover: true, yamlVersion: "1.2",
  schemaStore: { enable: false }, kubernetesCRDStore: { enable: false }, schemas: { [schema]: "*" },
};
child.stdout.on("data", (data) => {
  buffer = Buffer.concat([buffer, data]);
  for (;;) {
    const end = buffer.indexOf("\r\n\r\n");
    if (end < 0) return;
    const length = Number(/Content-Length: (\d+)/.exec(buffer.subarray(0, end).toString())[1]);
    if (buffer.length < end + 4 + length) return;
    const message = JSON.parse(buffer.subarray(end + 4, end + 4 + length).toString());
    buffer = buffer.subarray(end + 4 + length);
    if (message.method === "workspace/configuration") {
      write({ id: message.id, result: message.params.items.map((i) => (i.section === "yaml" ? settings : {})) });
    } else if (message.method === "textDocument/publishDiagnostics") {
      published.get(message.params.uri)?.(message.params.diagnostics);
    } else if (message.method && message.id !== undefined) {
      write({ id: message.id, result: null });
    } else if (waiting.has(message.id)) {
      waiting.get(message.id)(message.result);
    }
  }
});

await call("initialize", { processId: process.pid, rootUri: null, capabilities: { workspace: { configuration: true } } });
write({ method: "initialized", params: {} });
write({ method: "workspace/didChangeConfiguration", params: { settings: { yaml: settings } } });

const open = (uri, text) => new Promise((done, failed) => {
  const limit = setTimeout(() => failed(new Error(`${uri}: nothing was said within two minutes`)), 120_000);
  published.set(uri, (found) => { clearTimeout(limit); done(found); });
  write({ method: "textDocument/didOpen", params: { textDocument: { uri, languageId: "yaml", version: 1, text } } });
});
// The inputs in a folder of config/testdata, by name: those in archives (txtar) and the files.
const inputs = (folder) => {
  const dir = join(root, "config/testdata", folder), all = new Map();
  const add = (name, text) => { if (name.endsWith(".yaml") && !name.endsWith(".effective.yaml")) all.set(name, text); };
  for (const file of readdirSync(dir)) {
    const text = readFileSync(join(dir, file), "utf8");
    if (!file.endsWith(".txtar")) add(file, text);
    else for (const part of text.split(/^(?=-- .* --$)/m).slice(1)) {
      const end = part.indexOf("\n");
      add(part.slice(3, end - 3), part.slice(end + 1));
    }
  }
  return all;
};
const look = (folder, name, text) => open(pathToFileURL(join(root, "config/testdata", folder, name)).href, text);
const errors = (found) => found.filter((d) => d.severity === 1);
let wrong = 0;
const fail = (...words) => { wrong++; console.log("FAIL", ...words); };

// Those whose mistake no schema tells are in config/parse/jsonschema_accepts_test.go.
const beyond = new Set(
  [...readFileSync(join(root, "config/parse/jsonschema_accepts_test.go"), "utf8").matchAll(/^\t"([a-z0-9-]+)": +\w+,$/gm)].map((m) => m[1]));
// Those where the server's own parser is content, so that no schema is asked.
const parser = ["alias-cycle", "empty", "empty-comment", "merge-itself", "merge-text", "password-alias"];
parser.forEach((name) => beyond.add(name));
let good = 0, told = 0, silent = [];
for (const [name, text] of inputs("good")) {
  const found = await look("good", name, text);
  for (const d of found) fail(`good/${name}:${d.range.start.line + 1}: ${d.message}`);
  good++;
}
for (const [name, text] of inputs("mistakes")) {
  const found = errors(await look("mistakes", name, text));
  if (found.length > 0) told++;
  else if (!beyond.has(name.replace(".yaml", ""))) fail(`mistakes/${name}: nothing is said`);
  else silent.push(name);
}

// A mistake is told at its line, a key has its words, and a value its choices.
const text = "vcenter:\n  east:\n    server: vc.example.com\n    prot: 443\ntopology:\n  drift: \n";
const uri = pathToFileURL(join(root, "an-example.yaml")).href;
const found = errors(await open(uri, text));
if (!found.some((d) => d.range.start.line === 3 && /prot/.test(d.message))) fail("prot:", JSON.stringify(found));
const hover = await call("textDocument/hover", { textDocument: { uri }, position: { line: 2, character: 6 } });
if (!/host name/.test(JSON.stringify(hover))) fail("hover:", JSON.stringify(hover));
const choices = await call("textDocument/completion", { textDocument: { uri }, position: { line: 5, character: 9 } });
const labels = (choices?.items ?? choices ?? []).map((i) => i.label);
for (const word of ["report", "taint", "update"]) if (!labels.includes(word)) fail("completion:", JSON.stringify(labels));

console.log(`editors: ${good} right files without a word; ` +
  `${told} files with mistakes are told of, and ${silent.length} are not, which nothing in the schema can tell`);
child.kill();
process.exit(wrong > 0 ? 1 : 0);

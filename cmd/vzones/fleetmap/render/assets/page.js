"use strict";
// The page is complete without this script, which adds the filter.
(() => {
  const byId = (id) => document.getElementById(id);
  const query = byId("query"), onlyProblems = byId("problems"), found = byId("found");
  const selects = { region: byId("region"), zone: byId("zone"), vcenter: byId("vcenter") };
  const withNodes = document.body.classList.contains("nodes");
  // How long a task may work before the browser gets to do its own, in milliseconds.
  const slice = 12;
  // As many Nodes are few enough for the clusters with them to be opened.
  const few = 200;

  // A part is a region, a zone, a cluster, a host or the list of Nodes without a place, with what is below it. A leaf is a Node, or a host without any.
  const leaves = [], clusters = [], parts = [];

  // own is the text of an element without that of the list below it.
  const own = (element) => {
    let text = "";
    for (const child of element.childNodes) if (child.nodeName !== "UL") text += child.textContent + " ";
    return text.toLowerCase();
  };

  const leaf = (element, above, text, problem, at) => leaves.push({ element, above, text, problem, at, shown: true });

  const part = (element, above) => {
    const p = { element, above, shown: true, count: 0 };
    parts.push(p);
    return p;
  };

  const readHost = (element, above, text, problem, at) => {
    const host = part(element, above);
    const here = text + own(element);
    const marked = problem || element.classList.contains("problem");
    const nodes = element.querySelectorAll(".node");
    if (nodes.length === 0) leaf(null, host, here, marked, at);
    for (const node of nodes) leaf(node, host, here + own(node), marked || node.classList.contains("problem"), at);
  };

  const marksOf = (element) => {
    let text = "", problem = false;
    for (const m of element.children) {
      if (!m.classList.contains("mark")) continue;
      text += m.textContent.toLowerCase() + " ";
      problem ||= !m.classList.contains("info");
    }
    return { text, problem };
  };

  // read visits the page once, and pauses between two hosts where that takes long.
  const read = function* () {
    for (const region of document.querySelectorAll(".region")) {
      const r = part(region, null), regionMarks = marksOf(region);
      const regionText = region.querySelector("h2").firstChild.textContent.toLowerCase() + regionMarks.text;
      for (const zone of region.querySelectorAll(".zone")) {
        const z = part(zone, r), zoneMarks = marksOf(zone);
        const zoneText = regionText + zone.querySelector("h3").textContent.toLowerCase() + " " + zoneMarks.text;
        for (const cluster of zone.querySelectorAll(".cluster")) {
          const c = part(cluster, z), clusterMarks = marksOf(cluster), vcenter = cluster.dataset.vcenter;
          clusters.push(c);
          c.before = cluster.open;
          const at = { region: region.dataset.region, zone: zone.dataset.zone, vcenter };
          const text = zoneText + cluster.querySelector(".name").textContent.toLowerCase() + " " + vcenter.toLowerCase() + " " + clusterMarks.text;
          const problem = regionMarks.problem || zoneMarks.problem || clusterMarks.problem;
          for (const host of cluster.querySelectorAll(".host")) {
            readHost(host, c, text, problem, at);
            yield;
          }
        }
      }
    }
    for (const section of document.querySelectorAll(".unplaced")) {
      const nowhere = part(section, null);
      for (const node of section.querySelectorAll(".node")) {
        leaf(node, nowhere, own(node), true, {});
        yield;
      }
    }
  };

  // The work under way: a newer one ends it.
  let current = 0;
  const pause = () => new Promise((resolve) => setTimeout(resolve));

  // inSlices does the steps of a generator, and reports whether no newer work has begun meanwhile.
  const inSlices = async (steps, work) => {
    let end = performance.now() + slice;
    while (!steps.next().done) {
      if (performance.now() < end) continue;
      await pause();
      if (work !== current) return false;
      end = performance.now() + slice;
    }
    return true;
  };

  const show = (item, shown) => {
    if (item.shown === shown) return;
    item.shown = shown;
    if (item.element) item.element.hidden = !shown;
  };

  const wanted = () => {
    const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
    const where = Object.entries(selects).filter(([, s]) => s.value !== "").map(([key, s]) => [key, s.value.slice(1)]);
    const all = words.length === 0 && where.length === 0 && !onlyProblems.checked;
    const fits = (l) =>
      (!onlyProblems.checked || l.problem) && where.every(([key, value]) => l.at[key] === value) && words.every((word) => l.text.includes(word));
    return { all, fits };
  };

  const filter = function* (want, result) {
    for (const p of parts) p.count = 0;
    for (const l of leaves) {
      l.fits = want.fits(l);
      if (l.fits) {
        if (!withNodes || l.element) result.count++;
        for (let p = l.above; p; p = p.above) p.count++;
      }
      yield;
    }
    // What is opened shows only what is left then, so the clusters come last.
    for (const l of leaves) {
      show(l, l.fits);
      yield;
    }
    for (const p of parts) {
      show(p, p.count > 0);
      yield;
    }
    for (const c of clusters) {
      const open = want.all ? c.before : result.count <= few ? c.count > 0 : c.before;
      if (c.element.open !== open) c.element.open = open;
      yield;
    }
  };

  const total = () => leaves.filter((l) => !withNodes || l.element).length;

  const apply = async () => {
    const work = ++current;
    await pause();
    if (work !== current) return;
    const result = { count: 0 }, want = wanted();
    if (!(await inSlices(filter(want, result), work))) return;
    const what = withNodes ? "Nodes" : "hosts";
    const text = want.all ? "" : `${result.count.toLocaleString("en")} of ${total().toLocaleString("en")} ${what}`;
    found.textContent = text;
    document.body.dataset.done = String(work);
  };

  const fill = (select, values) => {
    for (const value of values) {
      const option = document.createElement("option");
      option.value = "=" + value;
      option.textContent = value === "" ? "none" : value;
      select.append(option);
    }
  };

  const start = async () => {
    await inSlices(read(), current);
    for (const [key, select] of Object.entries(selects)) {
      fill(select, new Set(leaves.filter((l) => key in l.at).map((l) => l.at[key])));
    }
    for (const input of [query, onlyProblems, ...Object.values(selects)]) input.addEventListener("input", apply);
    const form = byId("filter");
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => setTimeout(apply));
    const open = byId("open");
    open.addEventListener("click", async () => {
      const opened = open.textContent === "Open all";
      open.textContent = opened ? "Close all" : "Open all";
      const work = ++current;
      await inSlices((function* () {
        for (const c of clusters) {
          c.before = c.element.open = opened;
          yield;
        }
      })(), work);
    });
    addEventListener("beforeprint", () => clusters.forEach((c) => (c.element.open = true)));
    addEventListener("afterprint", apply);
    document.querySelector("search").hidden = false;
    document.body.dataset.ready = "true";
    if (query.value !== "" || onlyProblems.checked) apply();
  };
  start();
})();

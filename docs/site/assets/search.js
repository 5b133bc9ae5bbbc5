// The search of the site. It looks through search-index.js, which is loaded as a script
// when the search is first used, so that it works without a server too. Every word has to
// be in a section, or in the title of its page; a heading counts for more than text, and
// a whole word for more than a part of one.
(function () {
  "use strict";

  const most = 30;
  const root = document.documentElement.dataset.root;
  const input = document.getElementById("search");
  const results = document.getElementById("results");
  let index = null;
  let chosen = -1;

  function load() {
    if (index) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = root + "search-index.js";
      script.onload = () => {
        index = prepare(window.vzonesSearchIndex);
        resolve();
      };
      script.onerror = () => reject(new Error("search-index.js cannot be loaded"));
      document.head.append(script);
    });
  }

  function prepare(raw) {
    return raw.sections.map((s) => {
      const page = raw.pages[s.page];
      return {
        url: page.url + "#" + s.anchor,
        title: page.title,
        heading: s.heading,
        text: s.text,
        lower: { title: page.title.toLowerCase(), heading: s.heading.toLowerCase(), text: s.text.toLowerCase() },
        weight: /\/decisions\/|^CHANGELOG|^index\.html/.test(page.url) ? 0.6 : /\/reference\/(?!compared-)/.test(page.url) ? 1.2 : 1,
      };
    });
  }

  // worth says how well a text has a word: 3 as a whole, 2 at the beginning of one, 1 within
  // one, 0 not at all. The parts of vsphere_ccm_nodes are words, and so is all of it.
  function worth(text, word) {
    let best = 0;
    for (let at = text.indexOf(word); at >= 0 && best < 3; at = text.indexOf(word, at + 1)) {
      const begins = at === 0 || !/[\p{L}\p{N}]/u.test(text[at - 1]);
      const ends = at + word.length === text.length || !/[\p{L}\p{N}]/u.test(text[at + word.length]);
      best = Math.max(best, begins && ends ? 3 : begins ? 2 : 1);
    }
    return best;
  }

  // often says how often a text has a word, up to five times.
  function often(text, word) {
    return Math.min(5, text.split(word, 6).length - 1);
  }

  function search(query) {
    const words = query.toLowerCase().split(/[\s"`]+/).filter(Boolean);
    if (!words.length) return [];
    const found = [];
    index.forEach((s, order) => {
      let score = 0;
      let inSection = false;
      for (const word of words) {
        const heading = worth(s.lower.heading, word);
        const text = worth(s.lower.text, word);
        const title = worth(s.lower.title, word);
        if (!heading && !text && !title) return;
        inSection = inSection || heading > 0 || text > 0;
        score += heading * 8 + title * 5 + text * 3 + often(s.lower.text, word);
      }
      if (!inSection) return;
      const whole = words.join(" ");
      if (words.length > 1) score += worth(s.lower.heading, whole) * 8 + worth(s.lower.text, whole) * 4;
      if (s.lower.heading === whole) score += 20;
      // References come first, but for the comparison, and why or when something was decided comes last.
      found.push({ section: s, score: score * s.weight, order });
    });
    found.sort((a, b) => b.score - a.score || a.order - b.order);
    return found.map((f) => f.section);
  }

  // excerpt returns the text around the first of the words.
  function excerpt(text, words) {
    const lower = text.toLowerCase();
    const places = words.map((w) => lower.indexOf(w)).filter((at) => at >= 0);
    const at = places.length ? Math.min(...places) : 0;
    const from = Math.max(0, at - 50);
    return (from > 0 ? "…" : "") + text.slice(from, from + 160) + (from + 160 < text.length ? "…" : "");
  }

  // marked fills an element with a text, the words in it marked. It never parses HTML.
  function marked(element, text, words) {
    const lower = text.toLowerCase();
    let at = 0;
    while (at < text.length) {
      let next = text.length;
      let length = 0;
      for (const w of words) {
        const place = lower.indexOf(w, at);
        if (place >= 0 && (place < next || (place === next && w.length > length))) {
          next = place;
          length = w.length;
        }
      }
      element.append(text.slice(at, next));
      if (length) {
        const m = document.createElement("mark");
        m.append(text.slice(next, next + length));
        element.append(m);
      }
      at = next + length;
    }
    return element;
  }

  function show(query) {
    const words = query.toLowerCase().split(/[\s"`]+/).filter(Boolean);
    results.replaceChildren();
    chosen = -1;
    if (!words.length) return close();
    const found = search(query);
    found.slice(0, most).forEach((s, i) => {
      const link = document.createElement("a");
      link.href = root + s.url;
      link.id = "result-" + i;
      link.setAttribute("role", "option");
      link.append(marked(document.createElement("b"), s.heading, words));
      const where = document.createElement("small");
      where.append(s.title);
      if (s.title !== s.heading) link.append(where);
      link.append(marked(document.createElement("span"), excerpt(s.text, words), words));
      results.append(link);
    });
    const count = document.createElement("p");
    count.append(!found.length ? "Nothing has all of these words." : found.length > most ? `The first ${most} of ${found.length} sections.` : "");
    if (count.textContent) results.append(count);
    results.hidden = false;
    input.setAttribute("aria-expanded", "true");
  }

  function close() {
    results.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  }

  function choose(step) {
    const links = results.querySelectorAll("a");
    if (!links.length) return;
    if (chosen >= 0) links[chosen].removeAttribute("aria-selected");
    chosen = (chosen + step + links.length) % links.length;
    links[chosen].setAttribute("aria-selected", "true");
    links[chosen].scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", links[chosen].id);
  }

  function run() {
    return load().then(
      () => show(input.value),
      (err) => {
        results.replaceChildren(err.message);
        results.hidden = false;
      },
    );
  }

  input.addEventListener("focus", () => load().catch(() => {}));
  input.addEventListener("input", run);
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      choose(event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "Enter" && !results.hidden) {
      const links = results.querySelectorAll("a");
      const link = links[Math.max(chosen, 0)];
      if (link) link.click();
    } else if (event.key === "Escape") {
      close();
    }
  });
  results.addEventListener("click", (event) => {
    if (event.target.closest("a")) close();
  });
  document.addEventListener("click", (event) => {
    if (!event.target.closest(".search")) close();
  });
  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      input.focus();
    }
  });

  // Without scripts the search is not there.
  document.querySelector(".search").hidden = false;
  // A page may be linked to with a search: index.html?q=MachineNotFound.
  const asked = new URLSearchParams(location.search).get("q");
  if (asked) {
    input.value = asked;
    run();
  }

  // The table of contents is open where there is room for it beside the text.
  const contents = document.querySelector(".toc");
  if (contents && matchMedia("(min-width: 80.01rem)").matches) contents.open = true;

  const here = document.querySelector('nav [aria-current="page"]');
  if (here && matchMedia("(min-width: 56.01rem)").matches) {
    const nav = here.closest("nav");
    nav.scrollTop = here.offsetTop - nav.clientHeight / 2;
  }

  for (const pre of document.querySelectorAll("pre")) {
    if (!navigator.clipboard) break;
    const box = document.createElement("div");
    box.className = "code";
    pre.replaceWith(box);
    const button = document.createElement("button");
    button.className = "copy";
    button.type = "button";
    button.append("Copy");
    button.addEventListener("click", () =>
      navigator.clipboard.writeText(pre.textContent).then(() => {
        button.textContent = "Copied";
        setTimeout(() => (button.textContent = "Copy"), 1500);
      }),
    );
    box.append(pre, button);
  }
})();

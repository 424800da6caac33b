"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  for (const element of document.querySelectorAll(".js")) element.hidden = false;
  for (const element of document.querySelectorAll(".no-js")) element.hidden = true;

  // Text that comes from tokens is only ever written as text.
  const make = (name, text, className) => {
    const element = document.createElement(name);
    if (text !== undefined) element.textContent = text;
    if (className) element.className = className;
    return element;
  };
  const number = (n) => (n === null ? "–" : n.toLocaleString("en"));

  const SIGNS = { "\n": "↵", "\t": "→", "\r": "␍" };
  const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
  const visible = (text) =>
    text.replace(UNSEEN, (sign) => {
      const code = sign.charCodeAt(0);
      return SIGNS[sign] || (code < 0x100 ? "\\x" + code.toString(16).padStart(2, "0") : "\\u" + code.toString(16).padStart(4, "0"));
    });
  const spaced = (hex) => hex.replace(/(..)(?=.)/g, "$1 ");
  const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const ofHex = (hex) => {
    try {
      return visible(strict.decode(Uint8Array.from(hex.match(/../g) || [], (pair) => parseInt(pair, 16))));
    } catch {
      return "[" + spaced(hex) + "]";
    }
  };

  // Samples

  const detail = byId("detail");
  let kept = null;
  let shown = null;

  const fact = (name, ...values) => {
    const span = make("span");
    if (name) span.append(make("b", name));
    for (const value of values) span.append(value, " ");
    return span;
  };

  const show = (token) => {
    if (shown === token) return;
    leave();
    shown = token;
    const id = token.dataset.id;
    const info = data.samples[token.closest(".sample").dataset.by].tokens[id];
    const box = make("div");
    box.append(
      fact("", make("code", token.textContent, "tok")),
      fact("id", number(Number(id))),
      fact("bytes", make("code", spaced(info.hex))),
      fact("stands in the texts", number(info.count) + " times"),
      fact("", info.kind + (info.script ? ", " + info.script : "")),
    );
    if (info.rank !== null) box.append(fact("merge", number(info.rank)));
    if (info.parts) {
      const parts = info.part_bytes.map((hex) => make("code", ofHex(hex), "tok"));
      box.append(fact("joins", ...parts, "(" + info.parts.map(number).join(" and ") + ")"));
    }
    detail.replaceChildren(box);
    detail.hidden = false;
    token.classList.add("on");
    for (const other of token.closest(".sample").querySelectorAll(".t")) {
      other.classList.toggle("same", other !== token && other.dataset.id === id);
    }
  };

  const leave = () => {
    if (!shown) return;
    shown.classList.remove("on");
    for (const other of shown.closest(".sample").querySelectorAll(".same")) other.classList.remove("same");
    shown = null;
    detail.hidden = true;
  };

  const keep = (token) => {
    kept = kept === token ? null : token;
    if (kept) show(kept);
  };

  for (const sample of document.querySelectorAll(".sample")) {
    const tokens = [...sample.querySelectorAll(".t")];
    let at = 0;
    const reach = (index) => {
      tokens[at].tabIndex = -1;
      at = index;
      tokens[at].tabIndex = 0;
    };
    if (tokens.length) reach(0);
    sample.addEventListener("pointerover", (event) => {
      const token = event.target.closest(".t");
      if (token && !kept) show(token);
    });
    sample.addEventListener("pointerleave", () => {
      if (!kept && !sample.contains(document.activeElement)) leave();
    });
    sample.addEventListener("click", (event) => {
      const token = event.target.closest(".t");
      if (!token) return;
      reach(tokens.indexOf(token));
      keep(token);
    });
    sample.addEventListener("focusin", (event) => {
      if (!kept && event.target.classList.contains("t")) show(event.target);
    });
    sample.addEventListener("focusout", () => {
      if (!kept) leave();
    });
    sample.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tokens.length - 1 }[event.key];
      if (to !== undefined) {
        kept = null;
        reach(Math.min(Math.max(to, 0), tokens.length - 1));
        tokens[at].focus();
      } else if (event.key === "Enter" || event.key === " ") {
        keep(tokens[at]);
      } else {
        return;
      }
      event.preventDefault();
    });
  }
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    kept = null;
    leave();
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest(".sample, #detail")) return;
    kept = null;
    leave();
  });

  const choice = byId("sample-choice");
  if (choice) {
    const choose = () => {
      kept = null;
      leave();
      const by = choice.querySelector("input:checked").value;
      for (const block of document.querySelectorAll(".by")) block.hidden = block.dataset.by !== by;
    };
    choice.addEventListener("change", choose);
    choose();
  }

  // Scripts of one source, or of all

  const source = byId("script-source");
  if (source) {
    const choose = () => {
      for (const row of document.querySelectorAll("#scripts tbody tr")) row.hidden = row.dataset.source !== source.value;
    };
    source.addEventListener("change", choose);
    choose();
  }

  // All tokens

  const MOST = 200;
  const columns = data.vocabulary;
  const n = columns.id.length;
  const rowOf = new Map(columns.id.map((id, row) => [id, row]));
  const textOf = (row) => {
    const token = columns.bytes[row];
    return typeof token === "string" ? visible(token) : ofHex(token.hex);
  };
  const scripts = [...new Set(columns.script)].filter(Boolean).sort();
  for (const script of scripts) byId("filter-script").append(make("option", script));

  const matching = () => {
    const wanted = byId("filter-text").value;
    const lower = wanted.toLowerCase();
    const hex = lower.replaceAll(" ", "");
    const kind = byId("filter-kind").value;
    const script = byId("filter-script").value;
    const found = [];
    for (let row = 0; row < n; row++) {
      const count = columns.count[row];
      if (kind === "never" ? count > 0 || columns.length[row] < 2 || columns.kind[row] === 3
        : kind === "rare" ? count < 1 || count > 9
        : kind !== "" && columns.kind[row] !== Number(kind)) continue;
      if (script && columns.script[row] !== script) continue;
      if (wanted) {
        const token = columns.bytes[row];
        const fits = typeof token === "string" ? token.toLowerCase().includes(lower) : hex !== "" && token.hex.includes(hex);
        if (!fits && String(columns.id[row]) !== wanted) continue;
      }
      found.push(row);
    }
    const order = {
      most: (a, b) => columns.count[b] - columns.count[a],
      least: (a, b) => columns.count[a] - columns.count[b],
      long: (a, b) => columns.length[b] - columns.length[a],
    }[byId("filter-order").value];
    return order ? found.sort(order) : found;
  };

  const cell = (content) => {
    const td = make("td");
    td.append(content);
    return td;
  };

  const list = () => {
    const found = matching();
    const rows = found.slice(0, MOST).map((row) => {
      const tr = make("tr");
      const head = make("th", number(columns.id[row]));
      head.scope = "row";
      const token = cell(make("code", textOf(row), "tok"));
      const joins = make("td");
      if (columns.left[row] !== null) {
        for (const part of [columns.left[row], columns.right[row]]) {
          joins.append(make("code", textOf(rowOf.get(part)), "tok"), " ");
        }
      }
      token.className = joins.className = "name";
      const numbers = [columns.length[row], columns.count[row], columns.rank[row]];
      const script = cell(columns.script[row]);
      script.className = "name";
      tr.append(head, token, ...numbers.map((value) => cell(number(value))), joins, script);
      return tr;
    });
    byId("vocabulary").tBodies[0].replaceChildren(...rows);
    const listed = found.length > MOST ? ", the first " + MOST + " are listed" : "";
    byId("filter-found").textContent = number(found.length) + " of " + number(n) + " tokens" + listed;
  };
  byId("filter").addEventListener("input", list);
  byId("filter").addEventListener("submit", (event) => event.preventDefault());
  list();
})();

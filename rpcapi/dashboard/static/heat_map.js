// SPDX-License-Identifier: Apache-2.0
// Draws each host as a cell coloured by what is used of it, in groups, and reads them again while the page is visible.

const GAP = 1;
const TITLE_HEIGHT = 22;
const LARGEST_CELL = 24;
const SMALLEST_CELL = 5;
const MAP_AREA_HEIGHT = 420; // pixels that the cells may take before they shrink
const STEPS = 5; // colours of used shares

const canvas = document.getElementById("heat-map");
const status = document.getElementById("heat-map-host");

/** What is drawn, and where: `cells` has {host, x, y} in drawing order, `size` the edge of a cell. */
const state = { data: null, cells: [], titles: [], size: 0, columns: 1, selected: -1, etag: "", reading: false };

function colours() {
  const style = getComputedStyle(document.documentElement);
  const value = (name) => style.getPropertyValue(name).trim();
  return {
    used: Array.from({ length: STEPS }, (_, step) => value(`--used-${step}`)),
    noCapacity: value("--no-capacity"),
    unavailable: value("--unavailable"),
    text: value("--text"),
  };
}

function cellSize(width, groups) {
  for (let size = LARGEST_CELL; size > SMALLEST_CELL; size -= 1) {
    const columns = Math.max(1, Math.floor(width / (size + GAP)));
    const rows = groups.reduce((sum, group) => sum + Math.ceil(group.hosts.length / columns), 0);
    if (rows * (size + GAP) <= MAP_AREA_HEIGHT) {
      return size;
    }
  }
  return SMALLEST_CELL;
}

function layOut(width) {
  const { groups } = state.data;
  state.size = cellSize(width, groups);
  state.columns = Math.max(1, Math.floor(width / (state.size + GAP)));
  state.cells = [];
  state.titles = [];
  let top = 0;
  for (const group of groups) {
    if (group.name) {
      state.titles.push({ text: `${group.name} (${group.hosts.length})`, y: top });
      top += TITLE_HEIGHT;
    }
    group.hosts.forEach((host, place) => {
      const x = (place % state.columns) * (state.size + GAP);
      const y = top + Math.floor(place / state.columns) * (state.size + GAP);
      state.cells.push({ host, x, y });
    });
    top += Math.ceil(group.hosts.length / state.columns) * (state.size + GAP) + GAP;
  }
  return top;
}

function share(host) {
  const capacity = state.data.capacity[host];
  return capacity > 0 ? state.data.used[host] / capacity : null;
}

function draw() {
  if (state.data === null) {
    return;
  }
  const width = canvas.clientWidth;
  const height = layOut(width);
  const scale = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  const palette = colours();
  context.font = "13px system-ui, sans-serif";
  context.fillStyle = palette.text;
  for (const title of state.titles) {
    context.fillText(title.text, 0, title.y + 15);
  }
  for (const cell of state.cells) {
    const used = share(cell.host);
    const step = used === null ? -1 : Math.min(STEPS - 1, Math.floor(used * STEPS));
    context.fillStyle = step < 0 ? palette.noCapacity : palette.used[step];
    context.fillRect(cell.x, cell.y, state.size, state.size);
    if (state.data.state[cell.host] !== 0) {
      // Not by colour alone: a corner is cut off.
      context.fillStyle = palette.unavailable;
      context.beginPath();
      context.moveTo(cell.x, cell.y);
      context.lineTo(cell.x + state.size, cell.y);
      context.lineTo(cell.x, cell.y + state.size);
      context.fill();
    }
  }
  const selected = state.cells[state.selected];
  if (selected) {
    context.strokeStyle = palette.text;
    context.lineWidth = 2;
    context.strokeRect(selected.x - 1, selected.y - 1, state.size + 2, state.size + 2);
  }
  canvas.dataset.drawn = String(state.cells.length);
}

function describe(cell) {
  const { data } = state;
  const host = cell.host;
  const used = share(host);
  const percent = used === null ? `no ${data.class}` : `${Math.floor(100 * used)} % of ${data.capacity[host]} ${data.class} used`;
  return `${data.names[host]}: ${data.states[data.state[host]]}, ${percent}`;
}

function select(place) {
  if (state.cells.length === 0) {
    return;
  }
  state.selected = Math.min(Math.max(place, 0), state.cells.length - 1);
  draw();
  status.textContent = describe(state.cells[state.selected]);
}

function open(place) {
  const cell = state.cells[place];
  if (cell) {
    const name = state.data.names[cell.host];
    window.location.assign(`/hosts/${name.split("/").map(encodeURIComponent).join("/")}`);
  }
}

function placeAt(event) {
  const box = canvas.getBoundingClientRect();
  const [x, y] = [event.clientX - box.left, event.clientY - box.top];
  const step = state.size + GAP;
  return state.cells.findIndex((cell) => x >= cell.x && x < cell.x + step && y >= cell.y && y < cell.y + step);
}

function onKey(event) {
  const steps = {
    ArrowLeft: -1,
    ArrowRight: 1,
    ArrowUp: -state.columns,
    ArrowDown: state.columns,
    Home: -state.cells.length,
    End: state.cells.length,
  };
  if (event.key === "Enter" && state.selected >= 0) {
    open(state.selected);
  } else if (event.key in steps) {
    event.preventDefault();
    select(state.selected < 0 ? 0 : state.selected + steps[event.key]);
  }
}

/** Show new data; the selection stays on its host, whatever place it has now. */
function show(data) {
  const cell = state.cells[state.selected];
  const name = cell ? state.data.names[cell.host] : null;
  state.data = data;
  draw();
  state.selected = name === null ? -1 : state.cells.findIndex((item) => data.names[item.host] === name);
  if (state.selected >= 0) {
    select(state.selected);
  } else {
    status.textContent = "Point at a host, or select one with the arrow keys.";
  }
}

async function refresh() {
  if (document.hidden || state.reading) {
    return;
  }
  state.reading = true;
  try {
    const headers = state.etag ? { "If-None-Match": state.etag } : {};
    const answer = await fetch(canvas.dataset.source, { headers, redirect: "manual" });
    if (answer.type === "opaqueredirect") {
      window.location.reload(); // the session has ended: the page leads to the form to sign in
    } else if (answer.ok) {
      state.etag = answer.headers.get("ETag") ?? "";
      show(await answer.json());
    } else if (answer.status !== 304) {
      throw new Error(`status ${answer.status}`);
    }
  } catch (error) {
    state.etag = ""; // the next answer replaces the message
    status.textContent = `The hosts cannot be read now (${error.message}); trying again.`;
  } finally {
    state.reading = false;
  }
}

if (canvas) {
  canvas.addEventListener("keydown", onKey);
  canvas.addEventListener("pointermove", (event) => {
    const place = placeAt(event);
    if (place >= 0 && place !== state.selected) {
      select(place);
    }
  });
  canvas.addEventListener("click", (event) => open(placeAt(event)));
  new ResizeObserver(draw).observe(canvas);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  document.addEventListener("visibilitychange", refresh);
  setInterval(refresh, 1000 * Number(canvas.dataset.seconds));
  refresh();
}

// The columns of a table and what each is. Names are text, whatever stands in them; which ones are selected is known here only.
export default {
  template: `
    <div>
      <div class="tools" v-show="rows.length" data-heir="accept all">
        <input type="search" class="field" v-model="query" aria-label="find a column" placeholder="Find a column" data-key="find a column" />
        <div class="chipsrow" role="group" aria-label="show columns by role">
          <button type="button" class="button quiet" :aria-pressed="only === null ? 'true' : 'false'" data-key="all roles"
            @click="only = null">all {{ rows.length }}</button>
          <button v-for="c in counted" :key="c[0]" type="button" class="button quiet" :aria-pressed="only === c[0] ? 'true' : 'false'"
            :data-key="'only ' + c[0]" @click="only = only === c[0] ? null : c[0]">{{ c[0] }} {{ c[1] }}</button>
          <button v-if="open" type="button" class="button quiet" :aria-pressed="only === 'open' ? 'true' : 'false'" data-key="only open"
            @click="only = only === 'open' ? null : 'open'">to decide {{ open }}</button>
        </div>
        <label class="small soft">order
          <select class="field" v-model="order" data-key="order of columns">
            <option value="table">of the table</option><option value="role">by role</option><option value="distinct">most values first</option>
          </select>
        </label>
        <button v-if="guesses" type="button" class="button strongly" data-key="accept all" @click="$emit('accept', names(rows))">Accept all {{ guesses }} guesses</button>
      </div>
      <div v-if="picked.length" class="bulk" role="group" aria-label="role of the selected columns">
        <span>{{ picked.length === 1 ? "1 column" : picked.length + " columns" }} selected:</span>
        <button v-for="s in segments" :key="s" type="button" class="button" :data-key="'all ' + s" @click="$emit('role', { columns: picked, role: s })">{{ s }}</button>
        <select class="field" aria-label="another role for the selected columns" data-key="all more" @change="other($event, picked)">
          <option value="">more …</option><option v-for="m in more" :key="m" :value="m">{{ m }}</option>
        </select>
        <button type="button" class="button quiet" data-key="clear selection" @click="chosen = {}">Clear</button>
      </div>
      <table class="columns">
        <thead><tr>
          <th scope="col"><input type="checkbox" :checked="allPicked" aria-label="select all columns shown" data-key="select all" @change="pickAll" /></th>
          <th scope="col">column</th><th scope="col">role</th><th scope="col">kind</th><th scope="col" class="num">missing</th>
          <th scope="col" class="num">distinct</th><th scope="col">spread</th><th scope="col">why</th>
        </tr></thead>
        <tbody v-for="g in groups" :key="g.title">
          <tr v-if="g.title" class="grouprow"><th colspan="8" scope="rowgroup">{{ g.title }} · {{ g.rows.length }}</th></tr>
          <tr v-for="r in g.rows" :key="r.name" :class="{ asking: r.role === 'ask', chosen: chosen[r.name] }">
            <td class="tick" :data-heir="'accept ' + r.name"><input type="checkbox" :checked="!!chosen[r.name]" :aria-label="'select ' + r.name" :data-key="'select ' + r.name"
              @click="pick(r, $event)" @keydown="key(r, $event)" /></td>
            <th scope="row" class="name">{{ r.name }}<span v-if="r.label" class="said small soft">{{ r.label }}</span></th>
            <td class="role">
              <div class="rolepick" role="group" :aria-label="'role of ' + r.name">
                <button v-for="s in segments" :key="s" type="button" :aria-pressed="r.role === s ? 'true' : 'false'" :data-key="'role ' + s + ' ' + r.name"
                  @click="$emit('role', { columns: [r.name], role: s })">{{ s }}</button>
                <select :class="{ on: !segments.includes(r.role) }" :aria-label="'another role for ' + r.name" :data-key="'more ' + r.name"
                  :data-drawn="turn" @change="other($event, [r.name])">
                  <option value="" :selected.attr="segments.includes(r.role) ? '' : null">more</option>
                  <option v-if="!segments.includes(r.role) && !more.includes(r.role)" :value="r.role" selected>{{ r.role }}</option>
                  <option v-for="m in more" :key="m" :value="m" :selected.attr="m === r.role ? '' : null">{{ m }}</option>
                </select>
              </div>
              <button v-if="r.guess" type="button" class="button quiet guess" :aria-label="'the role of ' + r.name + ' is a guess; accept it'"
                title="a guess; click to accept it" :data-key="'accept ' + r.name" @click="$emit('accept', [r.name])">?</button>
            </td>
            <td><select class="field" :data-drawn="turn" :aria-label="'kind of ' + r.name" :data-key="'kind ' + r.name"
              @change="$emit('kind', { columns: [r.name], kind: $event.target.value })">
              <option v-for="k in kinds" :key="k" :value="k" :selected.attr="k === r.kind ? '' : null">{{ k }}</option></select></td>
            <td class="num"><span class="onlysmall soft">missing </span>{{ r.missing ? r.missing.toLocaleString("en") : "–" }}</td>
            <td class="num"><span class="onlysmall soft">distinct </span>{{ r.distinct.toLocaleString("en") }}</td>
            <td class="spread"><svg v-if="r.role !== 'drop' && r.bars.length" class="spark" viewBox="0 0 96 24" role="img" :aria-label="'spread of ' + r.name">
              <path :d="path(r.bars)" /></svg></td>
            <td class="why small soft"><span :title="r.why.join('; ')">{{ r.why[0] }}</span></td>
          </tr>
        </tbody>
      </table>
      <p v-if="!matching.length" class="soft" role="status">{{ rows.length ? "No column is called so." : "Looking at the columns …" }}</p>
      <button v-if="matching.length > limit" type="button" class="button" data-key="show more columns" @click="limit += 100">Show {{ Math.min(100, matching.length - limit) }} more columns</button>
    </div>`,
  props: { rows: Array, segments: Array, more: Array, kinds: Array },
  data() {
    return { query: "", only: null, order: "table", chosen: {}, last: null, limit: 100, turn: 0 };
  },
  watch: {
    rows() {
      if (this.only === "open" && !this.open) this.only = null; // the last one was decided
      this.turn++; // lists that were changed by hand show what is so now
    },
  },
  computed: {
    counted() {
      const counts = new Map();
      for (const r of this.rows) counts.set(r.role, (counts.get(r.role) || 0) + 1);
      const known = ["ask", ...this.segments, ...this.more.filter((m) => m !== "ask")];
      return [...counts].sort((a, b) => known.indexOf(a[0]) - known.indexOf(b[0]));
    },
    guesses() {
      return this.rows.filter((r) => r.guess).length;
    },
    open() {
      return this.rows.filter(this.isOpen).length;
    },
    matching() {
      const words = this.query.trim().toLowerCase();
      const found = this.rows.filter((r) => (!words || (r.name + " " + r.label).toLowerCase().includes(words)) && (this.only === null || r.role === this.only || (this.only === "open" && this.isOpen(r))));
      return this.order === "distinct" ? found.sort((a, b) => b.distinct - a.distinct) : found;
    },
    groups() {
      const some = this.matching.slice(0, this.limit);
      if (this.order !== "role") return [{ title: "", rows: some }];
      return this.counted.map(([role]) => ({ title: role, rows: some.filter((r) => r.role === role) })).filter((g) => g.rows.length);
    },
    inOrder() {
      return this.groups.flatMap((g) => g.rows);
    },
    picked() {
      return this.rows.filter((r) => this.chosen[r.name]).map((r) => r.name);
    },
    allPicked() {
      return this.inOrder.length > 0 && this.inOrder.every((r) => this.chosen[r.name]);
    },
  },
  methods: {
    isOpen(r) {
      return r.guess || r.role === "ask";
    },
    names(rows) {
      return rows.map((r) => r.name);
    },
    pick(r, event) {
      const on = event.target.checked;
      const places = this.names(this.inOrder);
      const from = places.indexOf(this.last), to = places.indexOf(r.name);
      const some = event.shiftKey && from >= 0 ? places.slice(Math.min(from, to), Math.max(from, to) + 1) : [r.name];
      for (const name of some) this.chosen[name] = on;
      this.last = r.name;
    },
    pickAll(event) {
      for (const r of this.inOrder) this.chosen[r.name] = event.target.checked;
    },
    key(r, event) {
      const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (by) {
        const boxes = [...this.$el.querySelectorAll("td.tick input")];
        boxes[boxes.indexOf(event.target) + by]?.focus();
        event.preventDefault();
        return;
      }
      const role = { d: "drop", q: "quasi", s: "sensitive", k: "keep" }[event.key];
      if (!role || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      this.$emit("role", { columns: this.chosen[r.name] ? this.picked : [r.name], role });
    },
    other(event, columns) {
      const role = event.target.value;
      if (role) this.$emit("role", { columns, role });
    },
    path(bars) {
      const step = 96 / bars.length;
      return bars.map((b, i) => "M" + (i * step).toFixed(1) + " 24V" + (24 - 22 * b).toFixed(1) + "h" + Math.max(0.5, step - 1).toFixed(1) + "V24z").join("");
    },
  },
};

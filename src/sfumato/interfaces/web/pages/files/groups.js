// Groups of values. Values are dragged from one to another, or moved by keys: Enter opens a list of groups. Names are text.
export default {
  template: `
    <div>
      <div class="tools">
        <input type="search" class="field" v-model="query" aria-label="find a value" placeholder="Find a value" data-key="find a value" />
        <span v-if="picked.length" class="bulk">{{ picked.length === 1 ? "1 selected" : picked.length + " selected" }}
          <button type="button" class="button" data-key="move selected" @click="ask(picked)">Move to …</button>
          <button type="button" class="button quiet" data-key="part selected" @click="part(picked)">Each for itself</button>
          <button type="button" class="button quiet" data-key="clear values" @click="chosen = {}">Clear</button></span>
      </div>
      <div class="groups">
        <div v-for="g in boxes" :key="g.key" :class="['group', { lost: g.lost, alone: g.alone, over: over === g.key }]" role="group" :aria-label="g.title"
          @dragover.prevent="over = g.key" @dragleave="over = null" @drop.prevent="dropped(g)">
          <div class="grouphead">
            <input v-if="g.name !== null" class="groupname" :value="g.name" :aria-label="'name of the group ' + g.name" :data-key="'group ' + g.name" @change="rename(g, $event)" />
            <strong v-else>{{ g.title }}</strong>
            <span class="soft small">{{ n(g.records) }}</span>
          </div>
          <div class="chips">
            <button v-for="m in g.shown" :key="m[0]" type="button" :class="['chip', { few: m[1] > 0 && m[1] < k, none: !m[1] }]" draggable="true"
              :aria-pressed="chosen[m[0]] ? 'true' : 'false'" :data-key="'value ' + m[0]"
              @click="chosen[m[0]] = !chosen[m[0]]" @keydown.enter.prevent="ask(chosen[m[0]] ? picked : [m[0]])" @dragstart="drag(m[0], $event)">
              <span class="lab">{{ m[0] === "" ? "(empty)" : m[0] }}</span><span class="n">{{ n(m[1]) }}</span></button>
            <button v-if="g.more" type="button" class="button quiet" :data-key="'all of ' + g.key" @click="whole[g.key] = true">… and {{ n(g.more) }} more</button>
          </div>
        </div>
        <div :class="['group', 'new', { over: over === '+' }]" role="group" aria-label="new group" @dragover.prevent="over = '+'" @dragleave="over = null" @drop.prevent="ask(dragged, true)">
          <button type="button" class="button" data-key="new group" :disabled="!picked.length" @click="ask(picked, true)">New group of the selected</button>
          <span class="soft small">or drop values here</span>
        </div>
      </div>
      <p class="soft small">Click or Space selects a value, Enter moves it. Outlined values are rarer than {{ k }}.</p>
      <dialog ref="dialog" class="sheet" aria-labelledby="move-title" @close="moving = []">
        <form method="dialog" @submit.prevent="move">
          <h3 id="move-title">Move {{ moving.length === 1 ? "1 value" : moving.length + " values" }} to …</h3>
          <select v-if="names.length" ref="list" class="field listbox" :size="Math.min(10, Math.max(3, names.length))" v-model="target" aria-label="group to move to" @keydown.enter.prevent="move" @dblclick="move">
            <option v-for="g in names" :key="g" :value="g">{{ g }}</option>
          </select>
          <label class="option"><span class="small soft">or a new group called</span>
            <input ref="fresh" class="field" v-model="fresh" type="text" /></label>
          <div class="tools"><button type="submit" class="button strongly">Move</button>
            <button type="button" class="button" @click="$refs.dialog.close()">Cancel</button></div>
        </form>
      </dialog>
    </div>`,
  props: { groups: Array, lost: Array, single: Array, top: String, k: Number },
  data() {
    return { query: "", chosen: {}, over: null, dragged: [], moving: [], target: "", fresh: "", whole: {} };
  },
  computed: {
    picked() {
      return this.groups.flatMap((g) => g.members).concat(this.lost, this.single).map((m) => m[0]).filter((name) => this.chosen[name]);
    },
    names() {
      return this.groups.map((g) => g.label).filter((label) => label !== this.top);
    },
    boxes() {
      const words = this.query.trim().toLowerCase();
      const some = (key, members) => {
        const found = members.filter((m) => !words || m[0].toLowerCase().includes(words));
        const shown = this.whole[key] ? found : found.slice(0, 60);
        return { key, shown, more: found.length - shown.length };
      };
      const sum = (members) => members.reduce((all, m) => all + m[1], 0);
      const mine = this.groups.map((g) => ({
        ...some("g " + g.label, g.members), records: g.records, lost: false,
        name: g.label === this.top ? null : g.label, title: g.label === this.top ? "in no group" : g.label,
      }));
      if (this.single.length) mine.push({ ...some("single", this.single), records: sum(this.single), lost: false, alone: true, name: null, title: "each for itself" });
      if (!this.lost.length) return mine;
      return [{ ...some("lost", this.lost), records: sum(this.lost), lost: true, name: null, title: "no place yet" }, ...mine];
    },
  },
  methods: {
    n: (number) => number.toLocaleString("en"),
    drag(name, event) {
      this.dragged = this.chosen[name] ? [...this.picked] : [name];
      event.dataTransfer.effectAllowed = "move";
      event.dataTransfer.setData("text/plain", "");
    },
    dropped(g) {
      this.over = null;
      if (g.name !== null && this.dragged.length) this.send(this.dragged, g.name);
      else if (g.alone && this.dragged.length) this.part(this.dragged);
      this.dragged = [];
    },
    ask(members, fresh = false) {
      this.over = null;
      if (!members.length) return;
      this.moving = [...members];
      this.target = fresh ? "" : this.names[0] || "";
      this.fresh = "";
      this.$refs.dialog.showModal();
      this.$nextTick(() => (fresh || !this.names.length ? this.$refs.fresh : this.$refs.list).focus());
    },
    move() {
      const to = this.fresh.trim() || this.target;
      if (!to) return;
      const members = [...this.moving];
      this.$refs.dialog.close();
      this.send(members, to);
    },
    send(members, to) {
      this.chosen = {};
      this.$emit("move", { members, to });
    },
    part(members) {
      this.chosen = {};
      this.$emit("part", { members });
    },
    rename(g, event) {
      const name = event.target.value.trim();
      if (name && name !== g.name) this.$emit("rename", { old: g.name, new: name });
      else event.target.value = g.name;
    },
  },
};

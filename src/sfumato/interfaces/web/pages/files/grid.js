// Rows of a table, a page at a time. Cells are text, whatever stands in them. "sort" is told with a column, "show" with a hidden one.
export default {
  template: `
    <div class="gridbox" tabindex="0" role="region" :aria-label="label">
      <table class="grid">
        <thead><tr>
          <th scope="col" class="num">row</th>
          <th v-for="c in columns" :key="c.name" scope="col" :aria-sort="sorted(c)">
            <button v-if="c.hidden" type="button" class="button quiet" :data-key="'show ' + c.name"
              :aria-label="'show column ' + c.name" @click="$emit('show', c.name)">{{ c.name }} · show</button>
            <button v-else type="button" class="button quiet" :data-key="'sort ' + c.name"
              :aria-label="'sort by ' + c.name" @click="$emit('sort', c.name)">{{ c.name }}{{ arrow(c) }}</button>
            <button v-if="c.shown" type="button" class="button quiet" :data-key="'hide ' + c.name"
              :aria-label="'hide column ' + c.name" @click="$emit('hide', c.name)">hide</button>
          </th>
        </tr></thead>
        <tbody>
          <tr v-for="(number, i) in numbers" :key="i">
            <th scope="row" class="num soft">{{ number.toLocaleString("en") }}</th>
            <td v-for="(c, j) in columns" :key="c.name" :class="{ veiled: c.hidden, num: c.number }">
              <span v-if="c.hidden" aria-label="hidden">••••</span>
              <span v-else-if="cells[j][i] === null" class="soft">–</span>
              <span v-else>{{ cells[j][i] }}</span>
            </td>
          </tr>
        </tbody>
      </table>
    </div>`,
  props: { label: String, columns: Array, numbers: Array, cells: Array, sort: String, descending: Boolean },
  methods: {
    sorted(c) {
      return c.name === this.sort ? (this.descending ? "descending" : "ascending") : undefined;
    },
    arrow(c) {
      return c.name === this.sort ? (this.descending ? " ↓" : " ↑") : "";
    },
  },
};

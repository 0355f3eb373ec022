// All levels of a hierarchy side by side, and how the classes grow with them. Labels are text, whatever stands in them.
export default {
  template: `
    <div>
      <div class="levels" tabindex="0" role="group" aria-label="all levels side by side" :style="{ gridTemplateColumns: 'repeat(' + levels.length + ', minmax(9.5rem, 1fr))' }">
        <section v-for="l in levels" :key="l.level" :class="['level', { chosen: l.level === used }]" :aria-label="title(l)">
          <div class="levelhead">
            <h3>{{ place(l) }}</h3>
            <span v-if="l.level === used" class="tag">{{ set ? "in use" : "found" }}</span>
            <button v-if="can && !(l.level === used && set)" type="button" class="button quiet" :data-key="'use level ' + l.level"
              :aria-label="'use level ' + l.level" @click="$emit('use', l.level)">use</button>
          </div>
          <p class="soft small">{{ l.name ? l.name + ": " : "" }}{{ l.values === 1 ? "1 value" : n(l.values) + " values" }}{{ l.rare ? ", " + n(l.rare) + " rarer than " + k : "" }}</p>
          <div class="risk">
            <div class="riskbar" :style="{ width: share(l.small) + '%' }"></div>
            <span :class="['small', { alarm: l.small > 0 }]">{{ n(l.small) }} in classes under {{ k }}</span>
          </div>
          <ul class="values" tabindex="0" :aria-label="'values of ' + title(l)">
            <li v-for="(item, i) in l.items" :key="i" :class="['row2', { few: item[1] < k }]" :title="item[0] === null ? 'missing' : said(item[0])">
              <span class="fill" :style="{ width: (l.most ? (64 * item[1]) / l.most : 0) + '%' }" aria-hidden="true"></span>
              <span :class="['lab', { soft: item[0] === null }]">{{ item[0] === null ? "missing" : item[0] === "" ? "(empty)" : said(item[0]) }}</span>
              <span class="n">{{ n(item[1]) }}</span>
            </li>
            <li v-if="l.more" class="soft small pad">… and {{ n(l.more) }} more</li>
          </ul>
        </section>
      </div>
      <table class="growth">
        <caption>How classes grow with each level
          <span class="legend"><span v-for="(name, i) in bands" :key="i"><i :class="'band b' + i"></i>{{ name }}</span></span>
        </caption>
        <thead><tr><th scope="col">level</th><th scope="col">records by the size of their class</th><th scope="col" class="num">classes</th>
          <th scope="col" class="num">smallest</th><th scope="col" class="num">mean</th></tr></thead>
        <tbody><tr v-for="l in levels" :key="l.level" :class="{ on: l.level === used }">
          <th scope="row">{{ title(l) }}</th>
          <td><div class="stack" role="img" :aria-label="spoken(l)"><i v-for="(b, i) in l.bands" :key="i" :class="'band b' + i" :style="{ width: share(b) + '%' }"></i></div></td>
          <td class="num">{{ n(l.classes) }}</td><td class="num">{{ n(l.smallest) }}</td><td class="num">{{ l.mean.toFixed(1) }}</td>
        </tr></tbody>
      </table>
    </div>`,
  props: { levels: Array, k: Number, records: Number, used: Number, set: Boolean, can: Boolean, bands: Array, words: Object },
  methods: {
    n: (number) => number.toLocaleString("en"),
    share(number) {
      return this.records ? (100 * number) / this.records : 0;
    },
    place(l) {
      return l.level === 0 ? "unchanged" : l.level === this.levels.length - 1 ? "fully suppressed" : "level " + l.level;
    },
    title(l) {
      return this.place(l) + (l.name ? ": " + l.name : "");
    },
    said(value) {
      return this.words && Object.hasOwn(this.words, value) ? value + " · " + this.words[value] : value;
    },
    spoken(l) {
      return l.bands.map((b, i) => this.n(b) + " " + this.bands[i]).join(", ");
    },
  },
};

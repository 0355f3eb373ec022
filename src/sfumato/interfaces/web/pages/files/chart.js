// A picture in Vega-Lite that tells which mark was hovered ("look"), clicked ("pick") or clicked twice ("use"), by the id of its datum,
// and that the mouse has gone ("leave"). Arrow keys walk along the marks and say each in words; Enter picks. A ring is changed in place.
// What the page library wraps cannot be cloned. Vega counts by values in plain objects, which know some words already ("constructor"): these get a
// character that nobody sees.
const plainly = (given) => JSON.parse(JSON.stringify(given), (_, value) => (typeof value === "string" && value in {} ? value + "\u200b" : value));
const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

export default {
  template: `<div><div ref="picture" class="drawing" tabindex="0" role="img" @keydown="walk" @blur="$emit('leave')"></div><p class="chart-words small" role="status"></p></div>`,
  props: { spec: Object, label: String, added: Object },
  watch: {
    added() {
      this.add();
    },
    label(words) {
      this.$refs.picture.setAttribute("aria-label", words);
    },
  },
  async mounted() {
    while (!window.vegaEmbed) await new Promise((resolve) => setTimeout(resolve, 20));
    if (this.gone) return;
    const picture = this.$refs.picture;
    const spec = plainly(this.spec);
    this.at = -1;
    this.points = spec.layer.flatMap((layer) => layer.data?.values ?? []).filter((row) => row.words && row.y !== null);
    const formatLocale = { decimal: ".", thousands: ",", grouping: [3], currency: ["", ""], percent: " %" }; // as core/words.py writes them
    const options = { actions: false, renderer: "svg", ast: true, tooltip: { theme: "sfumato" }, formatLocale };
    const { view } = await window.vegaEmbed(picture, spec, options);
    if (this.gone) return view.finalize();
    this.view = view;
    picture.setAttribute("aria-label", this.label);
    picture.querySelector("svg")?.setAttribute("aria-hidden", "true"); // the label speaks for all of it
    const tell = (name) => (_, item) => item?.datum?.id !== undefined && this.$emit(name, item.datum.id);
    view.addEventListener("click", tell("pick"));
    view.addEventListener("dblclick", tell("use"));
    view.addEventListener("mouseover", tell("look"));
    picture.addEventListener("mouseleave", () => this.$emit("leave"));
    this.add();
  },
  methods: {
    add() {
      if (!this.view) return;
      for (const [name, rows] of Object.entries(this.added ?? {})) this.view.data(name, plainly(rows));
      this.view.run();
    },
    walk(event) {
      if (!this.points?.length) return;
      if (event.key === "Enter" && this.at >= 0) this.$emit("pick", this.points[this.at].id);
      if (!(event.key in STEPS)) return;
      event.preventDefault();
      this.at = (this.at + STEPS[event.key] + this.points.length) % this.points.length;
      window.sfumato.say(this.$el.querySelector(".chart-words"), this.points[this.at].words);
      this.$emit("look", this.points[this.at].id);
    },
  },
  beforeUnmount() {
    this.gone = true;
    this.view?.finalize();
  },
};

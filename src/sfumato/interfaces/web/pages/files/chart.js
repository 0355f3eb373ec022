// A picture in Vega-Lite that tells which mark was hovered ("look"), clicked ("pick") or clicked twice ("use"), by the id of its datum,
// and that the mouse has gone ("leave"). What is drawn besides (a ring) is changed in place.
// What the page library wraps cannot be cloned. Vega counts by values in plain objects, which know some words already ("constructor"): these get a
// character that nobody sees.
const plainly = (given) => JSON.parse(JSON.stringify(given), (_, value) => (typeof value === "string" && value in {} ? value + "\u200b" : value));

export default {
  template: "<div></div>",
  props: { spec: Object, label: String, added: Object },
  watch: {
    added() {
      this.add();
    },
    label(words) {
      this.$el.setAttribute("aria-label", words);
    },
  },
  async mounted() {
    while (!window.vegaEmbed) await new Promise((resolve) => setTimeout(resolve, 20));
    const formatLocale = { decimal: ".", thousands: ",", grouping: [3], currency: ["", ""], percent: " %" }; // as core/words.py writes them
    const options = { actions: false, renderer: "svg", ast: true, tooltip: { theme: "sfumato" }, formatLocale };
    const { view } = await window.vegaEmbed(this.$el, plainly(this.spec), options);
    if (this.gone) return view.finalize();
    this.view = view;
    this.$el.setAttribute("role", "img");
    this.$el.setAttribute("aria-label", this.label);
    this.$el.querySelector("svg")?.setAttribute("aria-hidden", "true"); // the label speaks for all of it
    const tell = (name) => (_, item) => item?.datum?.id !== undefined && this.$emit(name, item.datum.id);
    view.addEventListener("click", tell("pick"));
    view.addEventListener("dblclick", tell("use"));
    view.addEventListener("mouseover", tell("look"));
    this.$el.addEventListener("mouseleave", () => this.$emit("leave"));
    this.add();
  },
  methods: {
    add() {
      if (!this.view) return;
      for (const [name, rows] of Object.entries(this.added ?? {})) this.view.data(name, plainly(rows));
      this.view.run();
    },
  },
  beforeUnmount() {
    this.gone = true;
    this.view?.finalize();
  },
};

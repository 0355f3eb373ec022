// A picture in Vega-Lite that tells which mark was hovered ("look") or clicked ("pick"), by the id of its datum.
export default {
  template: "<div></div>",
  props: { spec: Object, label: String },
  async mounted() {
    while (!window.vegaEmbed) await new Promise((resolve) => setTimeout(resolve, 20));
    const plain = JSON.parse(JSON.stringify(this.spec)); // what the page library wraps cannot be cloned
    const options = { actions: false, renderer: "svg", ast: true, tooltip: { theme: "sfumato" } };
    const { view } = await window.vegaEmbed(this.$el, plain, options);
    this.view = view;
    this.$el.setAttribute("role", "img");
    this.$el.setAttribute("aria-label", this.label);
    const tell = (name) => (_, item) => item?.datum?.id !== undefined && this.$emit(name, item.datum.id);
    view.addEventListener("click", tell("pick"));
    view.addEventListener("mouseover", tell("look"));
  },
  methods: {
    change(name, rows) {
      this.view?.data(name, rows).run();
    },
  },
  beforeUnmount() {
    this.view?.finalize();
  },
};

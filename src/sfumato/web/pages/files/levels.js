export default { template: "<div></div>", props: { data: Object } };

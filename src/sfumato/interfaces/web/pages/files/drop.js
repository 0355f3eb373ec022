// A place to drop a file or to choose one. It goes to the server in one request, and "done" is told with the name it is kept under.
export default {
  template: `
    <div :class="['drop', { over }]" @dragover.prevent="over = true" @dragleave.prevent="over = false" @drop.prevent="dropped">
      <label class="button" :for="field">{{ words }}</label>
      <input :id="field" class="away" type="file" :accept="accept" :data-key="field" @change="chosen" />
      <span class="soft small">{{ said || "or drop it here" }}</span>
      <progress v-if="share !== null" :value="share" max="1" aria-label="upload"></progress>
    </div>`,
  props: { words: String, accept: String, most: Number, field: String },
  data() {
    return { over: false, share: null, said: "" };
  },
  methods: {
    dropped(event) {
      this.over = false;
      if (event.dataTransfer.files.length) this.send(event.dataTransfer.files[0]);
    },
    chosen(event) {
      if (event.target.files.length) this.send(event.target.files[0]);
    },
    send(file) {
      if (file.size > this.most) {
        this.said = "This file is too large to be sent; give its path instead.";
        return;
      }
      const request = new XMLHttpRequest();
      request.open("POST", "sfumato/upload/file");
      request.setRequestHeader("Content-Type", "application/octet-stream");
      request.setRequestHeader("X-File-Name", encodeURIComponent(file.name));
      request.upload.onprogress = (event) => (this.share = event.loaded / Math.max(1, event.total));
      request.onload = () => {
        this.share = null;
        if (request.status === 200) {
          this.said = "";
          this.$emit("done", JSON.parse(request.responseText).kept);
        } else this.said = request.status === 413 ? "This file is too large; give its path instead." : "The file could not be taken.";
      };
      request.onerror = () => ((this.share = null), (this.said = "The file could not be sent."));
      request.send(file);
    },
  },
};

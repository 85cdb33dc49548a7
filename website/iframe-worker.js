// Browsers load no web worker from a file. On pages that are opened from a folder, a hidden frame does its work, so
// that the search works without a server and without a script from elsewhere.
(function () {
  if (location.protocol !== "file:") return;

  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.onmessage = null;
      this.onerror = null;
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.appendChild(this.frame);
      const inside = this.frame.contentWindow;
      this.loaded = new Promise((resolve) => {
        inside.postMessage = (data) => {
          const event = new MessageEvent("message", { data });
          if (this.onmessage) this.onmessage(event);
          this.dispatchEvent(event);
        };
        inside.importScripts = (...scripts) =>
          scripts.reduce((before, script) => before.then(() => this.load(script)), Promise.resolve());
        this.load(url).then(resolve, (error) => {
          if (this.onerror) this.onerror(error);
          this.dispatchEvent(new ErrorEvent("error", { message: String(error) }));
        });
      });
    }

    load(source) {
      return new Promise((resolve, reject) => {
        const inner = this.frame.contentDocument;
        const script = inner.createElement("script");
        script.src = new URL(source, location.href).href;
        script.onload = () => resolve();
        script.onerror = () => reject(new Error(`cannot load ${source}`));
        inner.body.appendChild(script);
      });
    }

    postMessage(data) {
      this.loaded.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {
      this.frame.remove();
    }
  };
})();

// The ends of logs. They are read again every few seconds while the run goes on.
import { get } from "./api.js";
import { byId, h, setText } from "./dom.js";

const AGAIN_MS = 2500;

export class Logs {
  constructor(isLive) {
    this.isLive = isLive;
    this.choice = byId("log-choice");
    this.text = byId("log");
    this.choice.addEventListener("change", () => this.show());
  }

  async follow() {
    try {
      this.list(await get("logs"));
      await this.show();
    } catch {
      // They are asked for again.
    }
    if (this.isLive()) setTimeout(() => this.follow(), AGAIN_MS);
  }

  list(logs) {
    const signature = logs.map((one) => one.name).join();
    if (this.signature === signature) return;
    this.signature = signature;
    const chosen = this.choice.value;
    this.choice.replaceChildren(...logs.map((one) => h("option", { value: one.name }, `${one.component} on ${one.host}`)));
    if (logs.some((one) => one.name === chosen)) this.choice.value = chosen;
  }

  async show() {
    const name = this.choice.value;
    if (!name) return;
    const lines = await get("log", { name });
    const isAtEnd = this.text.scrollTop + this.text.clientHeight >= this.text.scrollHeight - 8;
    setText(this.text, lines.join("\n") || "(empty)");
    if (isAtEnd) this.text.scrollTop = this.text.scrollHeight;
  }

  async showOf(component) {
    const found = [...this.choice.options].find((one) => one.textContent.startsWith(`${component} `) || one.textContent.startsWith(`${component}#`));
    if (!found) return;
    this.choice.value = found.value;
    await this.show();
    this.text.scrollTop = this.text.scrollHeight;
    this.text.scrollIntoView({ block: "nearest" });
    this.text.focus();
  }
}

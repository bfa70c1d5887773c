// Owns the start of the page.
import { render } from "preact";
import { App } from "./app.js";
import { Page } from "./view/page.js";

const app = new App();
void app.start();
render(<Page app={app} />, document.getElementById("app")!);

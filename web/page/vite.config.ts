// Builds the page into the crate that serves it, with the same bytes each time and nothing inline.
import { defineConfig } from "vitest/config";

export default defineConfig({
  // Addresses relative to the page, so that it also works below a path of a proxy.
  base: "./",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "../../crates/state/page",
    emptyOutDir: true,
    target: ["chrome123", "firefox128", "safari17.5"],
    sourcemap: false,
    // The content security policy forbids inline code and data fonts: everything is a file.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  test: { environment: "happy-dom", include: ["test/**/*.test.{ts,tsx}"] },
});

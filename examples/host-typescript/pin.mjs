// Writes what this host is pinned against into pinned/: the messages and the schemas of the harn-serve
// that is installed, and the types made of the schemas. HARN_SERVE names another binary.

import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { compile } from "json-schema-to-typescript";

const here = (name) => new URL(`pinned/${name}`, import.meta.url);
const harn = (...args) => execFileSync(process.env.HARN_SERVE ?? "harn-serve", args, { encoding: "utf8" });

// Messages as a client of the profile `meta` gets them: under the plain name, or with `.meta` behind it
// where they differ from those of the profile `harn`.
const names = harn("fixtures", "list").split("\n").slice(1).map((row) => row.split(" ")[0]);
rmSync(here("."), { recursive: true, force: true });
for (const folder of ["messages/", "schemas/", "types/"]) mkdirSync(here(folder), { recursive: true });
const wanted = names.filter((name) => name && !name.endsWith(".acp") && !names.includes(`${name}.meta`));
for (const name of wanted) {
  const text = harn("fixtures", "show", name);
  // Whole conversations have a message a line; this host pins single ones.
  if (text.startsWith("{\n")) writeFileSync(here(`messages/${name.replace(/\.meta$/, "")}.json`), text);
}

harn("schema", "--out", fileURLToPath(here("schemas/")));
for (const file of readdirSync(here("schemas/"))) {
  const schema = JSON.parse(readFileSync(here(`schemas/${file}`), "utf8"), besideRef);
  // `additionalProperties`: what the schema does not name is no member of the type.
  const types = await compile(schema, schema.title, { additionalProperties: false, bannerComment: "" });
  writeFileSync(here(`types/${file.replace(".schema.json", ".d.ts")}`), types);
}

/** The generator forgets a `$ref` that has properties beside it; as parts of an `allOf` it keeps both. */
function besideRef(_key, value) {
  if (!value?.$ref || !value.properties) return value;
  const { $ref, description, ...rest } = value;
  return { description, allOf: [{ $ref }, rest] };
}

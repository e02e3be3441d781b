// Builds the folder dist, which is part of the repository. The same sources and the same lockfile give the same bytes.
// The first argument is another folder to write to.
import { build } from "esbuild";
import { copyFileSync, mkdirSync, rmSync } from "node:fs";

const dist = process.argv[2] ?? "../dist";
rmSync(dist, { recursive: true, force: true });
mkdirSync(dist, { recursive: true });
await build({
  entryPoints: ["src/console.tsx", "src/console.css"],
  outdir: dist,
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  charset: "utf8",
  legalComments: "none",
  banner: { js: "/* Contains Preact, https://preactjs.com, under the MIT License: see NOTICE. */" },
});
for (const name of ["index.html", "icon.svg"]) copyFileSync(`src/${name}`, `${dist}/${name}`);

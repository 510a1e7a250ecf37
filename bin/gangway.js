#!/usr/bin/env node
// `gangway` in a checkout: what was built, or the sources where one of them is newer. JavaScript, as
// TypeScript takes Node a while to set up.
import { readdirSync, statSync } from 'node:fs';
import path from 'node:path';

const root = path.join(import.meta.dirname, '..');
const bundle = path.join(root, 'dist', 'main.js');

await import(isBuilt() ? '../dist/main.js' : '../src/main.ts');

function isBuilt() {
  const builtAt = statSync(bundle, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return ['src', 'migrations'].every((folder) => changedAt(path.join(root, folder)) < builtAt);
}

/** Of what is in it, however deep; of a folder that is when something was added or taken away. */
function changedAt(folder) {
  const times = readdirSync(folder, { withFileTypes: true }).map((entry) => {
    const file = path.join(folder, entry.name);
    return entry.isDirectory() ? changedAt(file) : statSync(file).mtimeMs;
  });
  return Math.max(statSync(folder).mtimeMs, ...times);
}

#!/usr/bin/env node
// `gangway` in a checkout runs the bundle, or the sources if one of them is newer. This file is JavaScript, because Node
// needs a while to prepare itself for TypeScript.
import './check-node.js';
import { readdirSync, statSync } from 'node:fs';
import path from 'node:path';

const root = path.join(import.meta.dirname, '..');
const bundle = path.join(root, 'dist', 'main.js');

await import(isBuilt() ? '../dist/main.js' : '../src/main.ts');

function isBuilt() {
  const builtAt = statSync(bundle, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return ['src', 'migrations'].every((folder) => changedAt(path.join(root, folder)) < builtAt);
}

/** The latest change of any file in a folder. The time of the folder itself shows that a file was added or deleted. */
function changedAt(folder) {
  const times = readdirSync(folder, { withFileTypes: true }).map((entry) => {
    const file = path.join(folder, entry.name);
    return entry.isDirectory() ? changedAt(file) : statSync(file).mtimeMs;
  });
  return Math.max(statSync(folder).mtimeMs, ...times);
}

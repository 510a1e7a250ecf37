import { mkdtempSync, rmSync } from 'node:fs';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { findParent } from './find-parent.ts';

/** A temporary folder that is gone after the test. */
export function createFolder(parent = findParent()): string {
  const folder = mkdtempSync(path.join(parent, 'gangway-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

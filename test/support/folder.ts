import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';

/** A temporary folder that is gone after the test. */
export function createFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'gangway-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

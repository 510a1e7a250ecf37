import { realpathSync } from 'node:fs';
import path from 'node:path';
import type { Server } from '../domain/binding.ts';

/** Whether two tools are one server. If both tell an identity, it decides; otherwise the address or the file does. */
export function isSameServer(one: Server, other: Server): boolean {
  if (one.identity !== null && other.identity !== null) return one.identity === other.identity;
  if (one.location === null || other.location === null) return false;
  return one.location === other.location || realPathOf(one.location) === realPathOf(other.location);
}

/** Follows the symbolic links of a file that need not exist yet. An address stays different from every other one. */
function realPathOf(location: string): string {
  const file = path.resolve(location);
  try {
    return realpathSync(file);
  } catch {
    return file === path.dirname(file) ? file : path.join(realPathOf(path.dirname(file)), path.basename(file));
  }
}

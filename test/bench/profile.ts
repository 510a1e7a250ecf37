import { type Profiler, Session } from 'node:inspector/promises';
import path from 'node:path';

/** How long a function ran itself, without what it called. Native work counts for the function that called it. */
export interface FunctionTime {
  name: string;
  microseconds: number;
}

/** Samples this thread until what is returned is called: which gives the longest first, without what is idle. */
export async function startProfile(): Promise<() => Promise<FunctionTime[]>> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.start');
  return async () => {
    const { profile } = await session.post('Profiler.stop');
    session.disconnect();
    return toFunctionTimes(profile);
  };
}

function toFunctionTimes({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile): FunctionTime[] {
  const names = new Map(nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]));
  const times = new Map<string, number>();
  for (const [index, sample] of samples.entries()) {
    const name = names.get(sample) ?? '';
    times.set(name, (times.get(name) ?? 0) + (timeDeltas[index] ?? 0));
  }
  for (const name of ['(idle)', 'post, node:inspector']) times.delete(name);
  return [...times]
    .map(([name, microseconds]) => ({ name, microseconds }))
    .toSorted((a, b) => b.microseconds - a.microseconds);
}

/** Of one file of ours or of a package, everything that is too small to name is one line. */
function nameOf({ functionName, url }: { functionName: string; url: string }): string {
  if (url === '') return functionName === '' ? 'native code without a name: SQLite' : `${functionName} (native)`;
  if (url.startsWith('node:')) return `${functionName || 'anonymous'}, ${url}`;
  return `${functionName || 'anonymous'}, ${path.basename(path.dirname(url))}/${path.basename(url)}`;
}

/** The lines of a report: the longest ones, and the rest as one. */
export function toProfileLines(times: readonly FunctionTime[], deliveries: number, limit = 14): string[] {
  const rest = times.slice(limit).reduce((sum, { microseconds }) => sum + microseconds, 0);
  const all = [
    ...times.slice(0, limit),
    { name: `all others (${Math.max(0, times.length - limit)})`, microseconds: rest },
  ];
  return all.map(({ name, microseconds }) => `${(microseconds / deliveries).toFixed(1).padStart(8)} µs  ${name}`);
}

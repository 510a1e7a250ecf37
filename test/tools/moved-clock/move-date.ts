import { readFileSync } from 'node:fs';

/**
 * Loaded before a program (`node --import`): its `Date` goes by the moved clock. What it measures and
 * waits for (`performance`, timers) is real.
 */

const file = process.env['MOVED_CLOCK'] ?? '';
const RealDate = Date;

function movedNow(): number {
  return RealDate.now() + Number(readFileSync(file, 'utf8'));
}

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args: unknown[], newTarget) =>
    Reflect.construct(target, args.length === 0 ? [movedNow()] : args, newTarget) as Date,
  apply: () => new RealDate(movedNow()).toString(),
  get: (target, key, receiver) => (key === 'now' ? movedNow : (Reflect.get(target, key, receiver) as unknown)),
});

import { describe, expect, it } from 'vitest';
import { createStorageGate } from '../../../src/http/receiver/limits.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

const overhead = 512;
const second = 1000;

/** A disk on which everything is stored four times. */
function openDisk(
  limits: { storedBytes?: number; reserveBytes?: number },
  diskBytes = Number.POSITIVE_INFINITY,
  installs = 3,
) {
  const clock = createFakeClock();
  const stored = new Map<string, number>();
  const used = () => [...stored.values()].reduce((sum, bytes) => sum + 4 * bytes, 0);
  let isBroken = false;
  const gate = createStorageGate({
    limits: { storedBytes: 1e9, reserveBytes: 0, ...limits },
    clock,
    async readStored() {
      if (isBroken) throw new Error('no connection');
      return new Map(stored);
    },
    readFree: async () => diskBytes - used(),
    countInstalls: () => installs,
  });
  return {
    clock,
    stored,
    free: () => diskBytes - used(),
    breakDatabase: () => {
      isBroken = true;
    },
    /** Stores a delivery if the gate allows it. @returns `stored`, or why not */
    async store(install: string, bytes: number): Promise<string> {
      const refusal = await gate.check(install, bytes - overhead);
      if (refusal !== undefined) return refusal;
      stored.set(install, (stored.get(install) ?? 0) + bytes);
      return 'stored';
    },
  };
}

describe('the storage of one install', () => {
  it('is limited for it alone, until something is purged', async () => {
    const { clock, stored, store } = openDisk({ storedBytes: 10_000 });
    for (let count = 0; count < 10; count += 1) expect(await store('acme', 1000)).toBe('stored');
    expect(await store('acme', 1000)).toBe('stored_bytes');
    expect(await store('globex', 1000)).toBe('stored');
    clock.advance(2 * second);
    expect(await store('acme', 1000)).toBe('stored_bytes');
    stored.set('acme', 0);
    for (let look = 0; look < 2; look += 1) {
      clock.advance(second);
      await store('globex', 1000);
    }
    expect(await store('acme', 1000)).toBe('stored');
  });

  it('is counted from what was allowed if the database cannot be asked', async () => {
    const { breakDatabase, store } = openDisk({ storedBytes: 3000 });
    breakDatabase();
    const answers = [];
    for (let count = 0; count < 4; count += 1) answers.push(await store('acme', 1000));
    expect(answers).toEqual(['stored', 'stored', 'stored', 'stored_bytes']);
  });
});

describe('a disk that becomes short', () => {
  const diskBytes = 200_000;
  const reserveBytes = 120_000;
  /** A third of the reserve, because everything is written four times. */
  const share = 10_000;

  async function flood(disk: ReturnType<typeof openDisk>, install: string): Promise<number> {
    const before = disk.stored.get(install) ?? 0;
    for (let sent = 0; sent < 1000; sent += 1) {
      await disk.store(install, 1000);
      if (sent % 7 === 0) disk.clock.advance(second);
    }
    return (disk.stored.get(install) ?? 0) - before;
  }

  it('keeps room for other installs when one floods it', async () => {
    const disk = openDisk({ reserveBytes }, diskBytes);
    await flood(disk, 'acme');
    expect(await disk.store('acme', 1000)).toBe('disk_reserve');
    expect(disk.free()).toBeGreaterThanOrEqual(8 * share);
    for (let sent = 0; sent < 10; sent += 1) expect(await disk.store('globex', 1000)).toBe('stored');
  });

  it('keeps room for an install that had stored much before', async () => {
    const disk = openDisk({ reserveBytes }, diskBytes);
    disk.stored.set('globex', 19_000);
    await flood(disk, 'acme');
    expect(disk.stored.get('acme')).toBeLessThan(19_000);
    expect(await disk.store('acme', 1000)).toBe('disk_reserve');
    for (let sent = 0; sent < 9; sent += 1) expect(await disk.store('globex', 1000)).toBe('stored');
  });

  it('is never filled, whichever installs flood it', async () => {
    const disk = openDisk({ reserveBytes }, diskBytes);
    for (const install of ['acme', 'globex', 'initech']) await flood(disk, install);
    expect(disk.free()).toBeGreaterThanOrEqual(0);
  });

  it('is noticed within a second, from what was allowed since the last measurement', async () => {
    const disk = openDisk({ reserveBytes }, diskBytes);
    for (let sent = 0; sent < 1000; sent += 1) await disk.store('acme', 1000);
    expect(disk.free()).toBeGreaterThanOrEqual(8 * share);
  });

  it('accepts everything again when there is room', async () => {
    const disk = openDisk({ reserveBytes }, diskBytes);
    await flood(disk, 'acme');
    disk.stored.set('acme', 0);
    for (let look = 0; look < 2; look += 1) {
      disk.clock.advance(second);
      await disk.store('globex', 1000);
    }
    expect(await disk.store('acme', 1000)).toBe('stored');
  });

  it('is not limited for a single install', async () => {
    const disk = openDisk({ reserveBytes }, diskBytes, 1);
    expect(await flood(disk, 'acme')).toBe(1_000_000);
  });
});

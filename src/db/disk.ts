import { statfsSync } from 'node:fs';
import path from 'node:path';
import type { Alerts } from '../lib/alerts.ts';
import type { Loop } from '../lib/loop.ts';
import type { RaisedKind } from '../lib/troubles.ts';

export interface Disk {
  freeBytes: number;
  /** Of all bytes, between 0 and 1. */
  freeFraction: number;
  /** The name of its network file system. */
  network?: string;
}

/** @returns undefined if the system does not say */
export function readDisk(file: string): Disk | undefined {
  try {
    const { type, bavail, blocks, bsize } = statfsSync(path.dirname(file));
    const network = process.platform === 'linux' ? networks.get(type) : undefined;
    return { freeBytes: bavail * bsize, freeFraction: blocks > 0 ? bavail / blocks : 1, ...(network && { network }) };
  } catch {
    return undefined;
  }
}

/** By their numbers in Linux (`man 2 statfs`). */
const networks = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xfe534d42, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0x5346414f, 'AFS'],
  [0x00c36400, 'CephFS'],
]);

const gibibyte = 1024 ** 3;
/** Of a large disk, a small part is still enough. */
const low = { fraction: 0.1, bytes: 10 * gibibyte };
const full = { fraction: 0.02, bytes: gibibyte };

/**
 * Raises an alert when the disk of a SQLite file gets short. When hardly anything is left, it pauses loops, so that
 * deliveries can still be stored.
 */
export function createDiskLook(
  alerts: Alerts,
  read: () => Disk | undefined,
  paused: readonly Pick<Loop, 'pause'>[],
): () => void {
  const sayLow = announceChanges(alerts, 'disk_low');
  const sayFull = announceChanges(alerts, 'disk_full');
  return () => {
    const disk = read();
    const isBelow = ({ fraction, bytes }: typeof low) =>
      disk !== undefined && disk.freeFraction < fraction && disk.freeBytes < bytes;
    sayLow(isBelow(low));
    sayFull(isBelow(full));
    for (const loop of paused) loop.pause(isBelow(full));
  };
}

/** @returns raises or ends an alert at its first call and at each change */
export function announceChanges(alerts: Alerts, kind: RaisedKind): (isOpen: boolean) => void {
  let wasOpen: boolean | undefined;
  return (isOpen) => {
    if (isOpen === wasOpen) return;
    wasOpen = isOpen;
    if (isOpen) alerts.raise(kind, {});
    else alerts.observe(kind, {}, []);
  };
}

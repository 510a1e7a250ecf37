import path from 'node:path';
import { expect, it } from 'vitest';
import { createDiskLook, type Disk, readDisk } from '../../src/db/disk.ts';
import { refuseNetwork } from '../../src/db/sqlite-database.ts';
import { createFolder } from '../support/folder.ts';

const gibibyte = 1024 ** 3;

it('is read from the folder of a file that need not exist yet', () => {
  const file = path.join(createFolder(), 'gangway.db');
  expect(readDisk(file)).toEqual({ freeBytes: expect.any(Number), freeFraction: expect.any(Number) });
  expect(readDisk('/nowhere/gangway.db')).toBeUndefined();
});

it('is refused for SQLite if it is on a network', () => {
  const disk: Disk = { freeBytes: gibibyte, freeFraction: 1 };
  refuseNetwork('gangway.db', disk);
  const says =
    'SQLite cannot use gangway.db safely, because it is on NFS. Set database.url to a file on a disk of this machine';
  expect(() => refuseNetwork('gangway.db', { ...disk, network: 'NFS' })).toThrow(says);
});

it.each<[string, Disk | undefined, string[]]>([
  ['half of it is free', { freeBytes: gibibyte, freeFraction: 0.5 }, []],
  ['a tenth is hardly free', { freeBytes: 9 * gibibyte, freeFraction: 0.09 }, ['disk_low']],
  ['a tenth of a large one', { freeBytes: 400 * gibibyte, freeFraction: 0.09 }, []],
  ['a hundredth is free', { freeBytes: gibibyte / 2, freeFraction: 0.01 }, ['disk_low', 'disk_full', 'paused']],
  ['a hundredth of a large one', { freeBytes: 5 * gibibyte, freeFraction: 0.01 }, ['disk_low']],
  ['the system does not say', undefined, []],
])('raises alerts and pauses loops when it is short: %s', (_when, found, expected) => {
  let disk = found;
  const open = new Set<string>();
  const alerts = {
    raise: (kind: string) => void open.add(kind),
    observe: (kind: string) => void open.delete(kind),
  };
  const loop = { pause: (isPaused: boolean) => void (isPaused ? open.add('paused') : open.delete('paused')) };
  const look = createDiskLook(alerts, () => disk, [loop]);
  look();
  look();
  expect([...open]).toEqual(expected);
  disk = { freeBytes: 20 * gibibyte, freeFraction: 0.2 };
  look();
  expect([...open]).toEqual([]);
});

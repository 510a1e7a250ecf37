import type { BigIntStats, PathLike } from 'node:fs';
import { readFileSync, writeFileSync } from 'node:fs';
import type { FileHandle, open, stat } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { createRosterAdapter } from '../../../src/adapters/roster/roster-adapter.ts';
import { createFolder } from '../../support/folder.ts';
import { listAll } from '../../support/list-all.ts';

const secondNs = 1_000_000_000n;

vi.mock('node:fs/promises', async (importOriginal) => {
  const real = await importOriginal<{ open: typeof open; stat: typeof stat }>();
  const inSeconds = (stats: BigIntStats) => Object.assign(stats, { mtimeNs: 1_800_000_000n * secondNs });
  return {
    ...real,
    stat: async (file: PathLike, options: { bigint: true }) => inSeconds(await real.stat(file, options)),
    async open(...args: Parameters<typeof open>): Promise<FileHandle> {
      const handle = await real.open(...args);
      const statHandle = handle.stat.bind(handle);
      return Object.assign(handle, { stat: async () => inSeconds(await statHandle({ bigint: true })) });
    },
  };
});

afterEach(() => void vi.useRealTimers());

it('a roster on a disk with whole seconds: what another program writes within one second is not written over', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: 1_800_000_000_500 });
  const { signal } = new AbortController();
  const file = path.join(createFolder(), 'roster.json');
  writeFileSync(file, JSON.stringify({ groups: {}, revision: 7 }));
  const adapter = createRosterAdapter({ path: file });
  const add = (trainerId: string) =>
    adapter.addMember('signs', { trainerId, email: 'a@opentrain.work', displayName: null, memberId: null }, signal);
  await add('cmu1');
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, text.replace('7', '8').replace('cmu1', 'cmu2'));
  // A later look finds the same size and the same second.
  vi.setSystemTime(1_800_000_010_000);
  expect(await listAll(adapter, 'signs', signal)).toMatchObject([{ id: 'cmu2' }]);
  await add('cmu3');
  expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({
    groups: { signs: [{ id: 'cmu2' }, { id: 'cmu3' }] },
    revision: 8,
  });
});

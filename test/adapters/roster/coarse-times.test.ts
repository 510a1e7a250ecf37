import { type BigIntStats, readFileSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createRosterAdapter } from '../../../src/adapters/roster/roster-adapter.ts';
import { createFolder } from '../../support/folder.ts';
import { listAll } from '../../support/list-all.ts';

const writtenAtMs = 1_800_000_000_000;

/** Shows every open file as written at this second. */
beforeEach(async () => {
  const handle = await open(process.execPath);
  const prototype = Object.getPrototypeOf(handle) as typeof handle;
  await handle.close();
  const stat = prototype.stat;
  vi.spyOn(prototype, 'stat').mockImplementation(async function (this: typeof handle) {
    const stats = (await stat.call(this, { bigint: true })) as BigIntStats;
    return Object.assign(stats, { mtimeMs: BigInt(writtenAtMs), mtimeNs: BigInt(writtenAtMs) * 1_000_000n });
  } as typeof stat);
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

it('a roster on a disk with whole seconds: what another program writes within one second is not written over', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: writtenAtMs + 500 });
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
  vi.setSystemTime(writtenAtMs + 10_000);
  expect(await listAll(adapter, 'signs', signal)).toMatchObject([{ id: 'cmu2' }]);
  await add('cmu3');
  expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({
    groups: { signs: [{ id: 'cmu2' }, { id: 'cmu3' }] },
    revision: 8,
  });
});

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it, onTestFinished } from 'vitest';
import { acmeSecret, startBridge, writeBridgeConfig } from '../../support/bridge-process.ts';
import { openBridgeState } from '../../support/bridge-state.ts';
import { sqlite } from '../../support/databases.ts';
import { createFolder } from '../../support/folder.ts';
import { countAnswers, distinct, sendRepeatedly } from '../../support/repeated-load.ts';
import { listRoster } from '../../support/roster.ts';

describe('one process on SQLite, while another writes to the file', () => {
  it('stores and adds once what comes four times', async () => {
    const setup = writeBridgeConfig(createFolder(), await sqlite.createMigrated());
    const bridge = await startBridge(setup);
    const writer = await startWriter(setup.databaseUrl.slice('sqlite:'.length));

    const { answers, members } = await sendRepeatedly([bridge.url], acmeSecret);
    expect(countAnswers(answers)).toEqual({ '200 accepted': distinct, '200 duplicate': 3 * distinct });
    const state = openBridgeState(setup.databaseUrl);
    expect(await state.countDeliveries()).toBe(distinct);

    await state.settled();
    const written = await writer.stop();
    expect(written).toBeGreaterThan(distinct / 5);
    expect(listRoster(setup.rosterFile)).toEqual(members);
    expect(await state.countReceipts()).toEqual({ added: members.length });

    expect(await bridge.stop()).toBe(0);
    expect(bridge.log().filter(({ level }) => level === 'error')).toEqual([]);
  });
});

async function startWriter(file: string) {
  const child = fork(new URL('../../support/sqlite-writer-process.ts', import.meta.url), [file]);
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child, 'message');
  return {
    /** @returns how many transactions it committed */
    async stop(): Promise<number> {
      const said = once(child, 'message') as Promise<[number]>;
      child.send('stop');
      const [written] = await said;
      return written;
    },
  };
}

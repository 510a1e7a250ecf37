import { describe, expect, it } from 'vitest';
import { writeAudit } from '../../src/db/audit-store.ts';
import { inTransaction } from '../../src/db/database.ts';
import { fullEvent } from '../support/event-bodies.ts';
import { useBridge } from './bridge.ts';

describe('gangway audit', () => {
  const { receive, runJson, runOk, withStorage } = useBridge();

  async function listActs(
    ...argv: string[]
  ): Promise<{ actor: string; action: string; subject: string; id: number }[]> {
    return (await runJson('audit', ...argv)).items;
  }

  /** By two in turns. */
  async function decideFourTimes(): Promise<void> {
    await withStorage(async ({ database }) => {
      for (const number of [1, 2, 3, 4]) {
        const by = { actor: number % 2 === 1 ? 'ada' : 'ben', at: `2026-03-15T12:00:0${number}.000Z` };
        await inTransaction(database, (tx) => writeAudit(tx, by, 'plans approve', `plan ${number}`));
      }
    });
  }

  it('says that nothing was decided yet', async () => {
    await receive();
    expect(await runOk('audit')).toBe('No operator has done anything yet, in the console or on the command line.\n');
  });

  it('lists decisions, newest first', async () => {
    await decideFourTimes();
    const subjects = (acts: { subject: string }[]) => acts.map(({ subject }) => subject);
    expect(subjects(await listActs())).toEqual(['plan 4', 'plan 3', 'plan 2', 'plan 1']);
    expect(subjects(await listActs('--limit', '2'))).toEqual(['plan 4', 'plan 3']);
    expect(subjects(await listActs('list', '--actor', 'ben'))).toEqual(['plan 4', 'plan 2']);
    expect(
      (await runOk('audit'))
        .split('\n')
        .slice(0, 2)
        .map((line) => line.split(/ {2,}/)),
    ).toEqual([
      ['id', 'what', 'about', 'who', 'from', 'at'],
      ['4', 'plans approve', 'plan 4', 'ben', 'command line', '2026-03-15T12:00:04Z'],
    ]);
  });

  it('records who replayed deliveries and rotated the key', async () => {
    await receive(fullEvent({ type: 'contract.started', contract: 'c1', trainer: 't1' }));
    await runOk('deliveries', 'replay', '1');
    const acts = await listActs();
    expect(acts).toMatchObject([{ action: 'deliveries replay', subject: '1 deliveries: 1' }]);
    expect(acts[0]?.actor).not.toBe('');
    await runOk('key', 'rotate');
    expect((await listActs()).map(({ action }) => action)).toEqual(['key rotate', 'deliveries replay']);
  });
});

import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { beforeEach, describe, expect, it } from 'vitest';
import { fullEvent } from '../support/event-bodies.ts';
import { minutesAgo } from '../support/lifecycle-events.ts';
import { createStdin, startAt } from '../support/run-command.ts';
import { until } from '../support/until.ts';
import { refused, useBridge } from './bridge.ts';

const day = minutesAgo(24 * 60).slice(0, 10);
const hired = fullEvent({ type: 'contract.started', createdAt: minutesAgo(1) });

/** An operator at a terminal who does not answer. */
const silent = () => Object.assign(new PassThrough(), { isTTY: true });

describe('gangway usage import', () => {
  const workspace = useBridge();
  const run = (...argv: string[]) => workspace.run('usage', ...argv);

  beforeEach(() => workspace.receive(hired));

  function writeWork(text: string, name = 'work.csv'): string {
    const file = path.join(workspace.folder, name);
    writeFileSync(file, text);
    return file;
  }

  const work = (seconds: number) =>
    writeWork(
      `workDate;externalProjectId;workEmail;totalSeconds\r\n${day};street-signs;cmu1@opentrain.work;${seconds}\r\n`,
    );

  it('previews each line, asks, imports and undoes', async () => {
    const asked = startAt(createStdin('y'), ...['usage', 'import', work(3600), '--config', workspace.configFile]);
    const { status, stderr, stdout } = await asked.ended;
    expect(status).toBe(0);
    expect(stderr).toContain('Import this? [y/N]');
    expect(stdout.split('\n').map((line) => line.replaceAll(/ +/g, ' '))).toEqual([
      `acme, work.csv: 1 line of 1 person, ${day} to ${day}`,
      'line day trainer contract seconds tasks labels because',
      ` 2 ${day} cmu1 sent cmc1 3600`,
      '',
      ' lines seconds tasks labels',
      'sent 1 +3,600',
      'Imported as 1. What is sent goes out with the next report. "gangway usage undo 1 --yes" takes it back.',
      '',
    ]);
    const again = await run('import', work(1800), '--yes');
    expect(again.status).toBe(0);
    expect(await run('undo', '2', '--yes')).toMatchObject({ status: 0 });
    const listed = await run('imports');
    expect(listed.stdout).toMatch(
      /^id +file +install +state .*\n +2 +work\.csv +acme +undone .*\n +1 +work\.csv +acme +counted /,
    );
    const { imports } = await workspace.runJson('usage', 'imports');
    expect(imports).toMatchObject([
      { id: 2, state: 'undone', fileName: 'work.csv' },
      { id: 1, state: 'counted', lines: 1, people: 1, firstDay: day, lastDay: day },
    ]);
  });

  it('shows the first fifty lines, and lists all of them with --json', async () => {
    const days = Array.from({ length: 60 }, (_, back) => minutesAgo((back + 1) * 24 * 60).slice(0, 10));
    const file = writeWork(`workDate,contractId,totalSeconds\n${days.map((one) => `${one},cmc1,60\n`).join('')}`);
    const shown = await run('import', file);
    expect(shown.stdout.match(/ sent +cmc1/g)).toHaveLength(50);
    expect(shown.stdout).toContain('\nand 10 more\n');
    const { listed } = JSON.parse((await run('import', file, '--json')).stdout) as { listed: object[] };
    expect(listed).toHaveLength(60);
  });

  it('imports nothing without a confirmation, and leaves nothing behind', async () => {
    const { status, stdout } = await run('import', work(60), '--json');
    expect(status).toBe(2);
    expect(JSON.parse(stdout)).toMatchObject({
      imported: null,
      people: 1,
      outcomes: { sent: { lines: 1, counts: { seconds: 60 } } },
      listed: [{ line: 2, outcome: 'sent', contractId: 'cmc1', to: { seconds: 60 } }],
    });
    expect((await run('imports')).stdout).toBe('Nothing was imported.\n');
    expect((await run('import', work(60))).stdout).toContain('there is no --yes');
    await workspace.withStorage(async ({ database }) => {
      expect(await database.kysely.selectFrom('usageImport').selectAll().execute()).toEqual([]);
    });
  });

  it('imports nothing if it is stopped at the question', async () => {
    const asked = startAt(silent(), ...['usage', 'import', work(60), '--config', workspace.configFile]);
    await until('it asks', asked.stderr, (said) => said.includes('Import this?'));
    asked.stop();
    expect(await asked.ended).toMatchObject(refused('Stopped: nothing was imported'));
    expect((await run('imports')).stdout).toBe('Nothing was imported.\n');
  });

  it('names every wrong line, without addresses', async () => {
    const file = writeWork(
      `{"workDate":"${day}","contractId":"eve@opentrain.work","totalSeconds":60}\n{}\n`,
      'eve@opentrain.work.ndjson',
    );
    const { status, stdout, stderr } = await run('import', file, '--yes');
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toBe(
      [
        'line 1: there is no such contract',
        'line 2: workDate is missing; contractId or externalProjectId is missing; none of totalSeconds, tasksCompleted, labelsCompleted is given',
        'Nothing was imported: 2 lines are wrong.',
        '',
      ].join('\n'),
    );
    const shown = await run('import', file, '--yes', '--json');
    expect(shown.status).toBe(1);
    expect(JSON.parse(shown.stdout)).toMatchObject({ imported: null, outcomes: { refused: { lines: 2 } } });
    expect(shown.stdout).not.toContain('eve@');
  });

  it('is used wrongly without a file, with another kind of file, or with an unknown install', async () => {
    for (const argv of [[], ['a.xlsx']]) {
      expect(await run('import', ...argv)).toMatchObject({ status: 64 });
    }
    const unknown = await run('import', work(60), '--install', 'globex');
    expect(unknown).toMatchObject(refused('there is no install "globex"; there is: acme', 64));
    const missing = path.join(workspace.folder, 'missing.csv');
    expect(existsSync(missing)).toBe(false);
    expect(await run('import', missing)).toMatchObject({ status: 1 });
  });

  it('prints templates', async () => {
    expect((await run('template')).stdout.split('\n')).toHaveLength(4);
    const lines = (await run('template', '--ndjson')).stdout.trimEnd().split('\n');
    expect(lines.map((line) => Object.keys(JSON.parse(line) as object)[0])).toEqual(['workDate', 'workDate']);
  });
});

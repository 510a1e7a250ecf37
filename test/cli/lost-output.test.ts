import { type SpawnSyncOptions, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createBridgeWorkspace } from '../support/bridge-workspace.ts';
import { programFile } from '../support/built-program.ts';
import { until } from '../support/until.ts';

/** Every write to it fails as on a full disk. */
function openFullDisk(): number {
  const full = openSync('/dev/full', 'w');
  onTestFinished(() => closeSync(full));
  return full;
}

function run(argv: string[], stdio: SpawnSyncOptions['stdio']) {
  return spawnSync(process.execPath, [programFile, ...argv], { stdio, encoding: 'utf8' });
}

/** A bridge with this for a log. `start --json` prints the address when it runs. */
async function startBridge(log: 'pipe' | number) {
  const { configFile } = createBridgeWorkspace();
  const argv = [programFile, 'start', '--json', '--config', configFile];
  const bridge = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', log] });
  onTestFinished(() => void bridge.kill('SIGKILL'));
  const ended = once(bridge, 'exit');
  const said: string[] = [];
  bridge.stdout?.on('data', (chunk: Buffer) => said.push(chunk.toString()));
  const printed = () => said.join('');
  await until('it runs', printed, (text) => text.includes('\n'));
  const { receiverUrl } = JSON.parse(printed()) as { receiverUrl: string };
  return { bridge, ended, receiverUrl };
}

describe('output that cannot be written', () => {
  it('a bridge starts and works while the disk of its log is full', async () => {
    const { bridge, ended, receiverUrl } = await startBridge(openFullDisk());
    expect((await fetch(`${receiverUrl}/readyz`)).status).toBe(200);
    bridge.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  });

  it('a bridge goes on when the reader of its log has gone', async () => {
    const { bridge, ended, receiverUrl } = await startBridge('pipe');
    bridge.stderr?.destroy();
    // It logs that a hang-up ends nothing, into the closed pipe.
    bridge.kill('SIGHUP');
    expect((await fetch(`${receiverUrl}/readyz`)).status).toBe(200);
    bridge.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  });

  it('a command ends quietly when its reader has read enough', async () => {
    const command = spawn(process.execPath, [programFile, '--help'], { stdio: ['ignore', 'pipe', 'pipe'] });
    const said: string[] = [];
    command.stderr.on('data', (chunk: Buffer) => said.push(chunk.toString()));
    command.stdout.destroy();
    expect(await once(command, 'close')).toEqual([0, null]);
    expect(said).toEqual([]);
  });

  it('a command fails if its output does not fit on the disk, and says so', () => {
    const { status, stderr } = run(['--help'], ['ignore', openFullDisk(), 'pipe']);
    expect(status).toBe(1);
    expect(stderr).toContain('stdout could not be written: ENOSPC');
  });
});

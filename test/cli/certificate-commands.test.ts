import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { createRunStore } from '../../src/reconcile/runs/run-store.ts';
import { pauseBetween } from '../support/between.ts';
import { openIdleMarketplace } from '../support/bridge-process.ts';
import { createBridgeWorkspace, type Workspace } from '../support/bridge-workspace.ts';
import { fullEvent } from '../support/event-bodies.ts';
import { type CommandResult, runCommand } from '../support/run-command.ts';

const createdAt = new Date().toISOString();
const hired = fullEvent({ type: 'contract.started', createdAt });
const ended = fullEvent({ type: 'contract.ended', id: '7000000002', createdAt });

describe('proof of access on the command line', () => {
  let workspace: Workspace;
  let file: string;

  beforeEach(async () => {
    workspace = createBridgeWorkspace({ marketplace: { baseUrl: await openIdleMarketplace() } });
    file = path.join(workspace.folder, 'access.jsonl');
    await workspace.receive(hired);
  });

  const run = (...argv: string[]): Promise<CommandResult> => runCommand(...argv, '--config', workspace.configFile);

  /** As after a reading of the whole install. */
  async function readWhole(): Promise<void> {
    await workspace.withStorage(async ({ database }) => {
      const runs = createRunStore(database);
      const now = new Date().toISOString();
      await runs.read(await runs.begin('acme', 'schedule', now), 1, now);
    });
  }

  async function exportTo(name: string, ...argv: string[]) {
    const { status, stdout, stderr } = await run('audit', 'export', name, ...argv, '--json');
    return { status, stderr, ...(JSON.parse(stdout) as { accesses: number; publicKey: string }) };
  }

  it('explains who had access before it ended', async () => {
    const before = await pauseBetween();
    await workspace.receive(ended);
    const then = await run('explain', 'cmu1', '--at', before);
    expect(then).toMatchObject({ status: 0, stderr: '' });
    expect(then.stdout).toContain('yes  contract    the contract is active');
    expect(then.stdout).toContain('active in street-signs of list');
    expect(then.stdout).not.toContain('To do');
    expect((await run('explain', 'cmu1')).stdout).toContain('removed from street-signs of list');
  });

  it.each([
    ['before the journal', '2020-01-01T00:00:00Z', 1, 'gangway: The evidence journal begins at '],
    ['not an instant', 'yesterday', 64, 'write an instant with its offset: 2026-03-15T12:00:00Z'],
  ])('explains nothing of what is %s', async (_, at, status, says) => {
    const result = await run('explain', 'cmu1', '--at', at);
    expect(result).toMatchObject({ status, stdout: '' });
    expect(result.stderr).toContain(says);
  });

  it('writes a certificate that can be checked without the database, and not once it was changed', async () => {
    await readWhole();
    const from = await pauseBetween();
    await workspace.receive(ended);
    const exported = await exportTo(file, '--from', from);
    expect(exported).toMatchObject({ status: 0, accesses: 1, stderr: '' });
    const lines = readFileSync(file, 'utf8');
    expect(lines).toContain('"cause":"contract_ended"');
    expect(lines).not.toContain('opentrain.work');

    const { publicKey } = exported;
    expect(await runCommand('audit', 'verify', file, '--key', publicKey)).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('It is as it was signed, by the key that you passed'),
      stderr: '',
    });
    writeFileSync(file, lines.replace('"cause":"contract_ended"', '"cause":"link_removed"'));
    const verdict = await runCommand('audit', 'verify', file, '--key', publicKey);
    expect(verdict).toMatchObject({ status: 1, stdout: `${file} is not to be believed.\n` });
    expect(verdict.stderr).toContain('this does not follow from the rows');
  });

  it('does not certify what was read only in part, and says so', async () => {
    const { status, stderr } = await exportTo(file);
    expect(status).toBe(1);
    expect(stderr).toMatch(/acme is not certified, as it was read only in part: .* \(never read\)/);
    const { stdout, stderr: warned } = await runCommand('audit', 'verify', file);
    expect(stdout).toContain('It is as it was signed');
    expect(warned).toContain('it does not certify acme, which was read only in part');
    expect(warned).toContain('whose key signed it is not checked');
  });

  it.each([
    [['--from', '2999-01-01T00:00:00Z'], '--from must be before --to'],
    [['--to', '2999-01-01T00:00:00Z'], '--to is in the future'],
  ])('refuses %s', async (argv, says) => {
    const { status, stderr } = await run('audit', 'export', file, ...argv);
    expect(status).toBe(64);
    expect(stderr).toContain(says);
    expect(existsSync(file)).toBe(false);
  });

  it('leaves a file that is there as it is', async () => {
    writeFileSync(file, 'mine');
    const { status, stderr } = await run('audit', 'export', file);
    expect({ status, stderr }).toEqual({ status: 1, stderr: `gangway: ${file}: there is one already\n` });
    expect(readFileSync(file, 'utf8')).toBe('mine');
  });

  it('says that a certificate cannot be read', async () => {
    const { status, stderr } = await runCommand('audit', 'verify', file);
    expect({ status, stderr }).toEqual({ status: 1, stderr: `gangway: ${file} cannot be read\n` });
  });
});

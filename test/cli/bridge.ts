import { readFileSync, writeFileSync } from 'node:fs';
import { beforeEach, expect } from 'vitest';
import { createBridgeWorkspace, type Workspace } from '../support/bridge-workspace.ts';
import { type CommandResult, runCommand } from '../support/run-command.ts';

// What a test expects is said by its assertions.
// biome-ignore lint/suspicious/noExplicitAny: see above
type Printed = any;

/** The folder of a bridge, with the commands that use its configuration. */
export interface Bridge extends Workspace {
  /** Moves to a new folder, whose configuration has these changes. */
  open(changes: object): void;
  config(): Printed;
  /** Replaces top-level sections of the configuration. */
  changeConfig(changes: object): void;
  run(...argv: string[]): Promise<CommandResult>;
  /** @returns stdout of a command that succeeds and prints nothing else */
  runOk(...argv: string[]): Promise<string>;
  /** The same with `--json`, which prints one line. */
  runJson(...argv: string[]): Promise<Printed>;
}

/** Opens a folder before each test. The functions can be destructured: they use the folder of the current test. */
export function useBridge(changesOf: () => object | Promise<object> = () => ({})): Bridge {
  let current: Workspace;
  beforeEach(async () => {
    current = createBridgeWorkspace(await changesOf());
  });
  const config = () => JSON.parse(readFileSync(current.configFile, 'utf8'));
  const run = (...argv: string[]) => runCommand(...argv, '--config', current.configFile);
  async function runOk(...argv: string[]): Promise<string> {
    const { status, stdout, stderr } = await run(...argv);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    return stdout;
  }
  return {
    get folder() {
      return current.folder;
    },
    get configFile() {
      return current.configFile;
    },
    get rosterFile() {
      return current.rosterFile;
    },
    receive: (...bodies) => current.receive(...bodies),
    whileRunning: (work) => current.whileRunning(work),
    withStorage: (work) => current.withStorage(work),
    pretendRunning: () => current.pretendRunning(),
    open(changes) {
      current = createBridgeWorkspace(changes);
    },
    config,
    changeConfig: (changes) => writeFileSync(current.configFile, JSON.stringify({ ...config(), ...changes })),
    run,
    runOk,
    async runJson(...argv) {
      const stdout = await runOk(...argv, '--json');
      expect(stdout.trimEnd().split('\n')).toHaveLength(1);
      return JSON.parse(stdout);
    },
  };
}

/** The result of a command that fails with this on stderr. */
export function refused(says: string | RegExp, status = 1): object {
  return { status, stderr: typeof says === 'string' ? expect.stringContaining(says) : expect.stringMatching(says) };
}

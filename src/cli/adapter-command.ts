import { Command } from 'commander';
import type { Adapter } from '../adapters/adapter.ts';
import { type ConformanceResult, runConformance } from '../adapters/conformance.ts';
import { loadAdapter } from '../adapters/load-adapters.ts';
import type { ToolConfig } from '../config/config-schema.ts';
import { loadToolFile } from '../config/load-tool-file.ts';
import { AppError } from '../domain/errors.ts';
import { maskText } from '../lib/mask.ts';
import { stripControl } from '../lib/strip-control.ts';
import { type Canaries, createCanaries } from './canaries.ts';
import { loadCommandConfig, toQuery } from './command-context.ts';
import { toCrowd } from './count-option.ts';
import { toDomain } from './domain-option.ts';
import type { Terminal } from './terminal.ts';

/** `gangway adapter`: for those who declare or write one. */
export function createAdapterCommand(terminal: Terminal): Command {
  return new Command('adapter').description('try an adapter out').addCommand(createTestCommand(terminal));
}

interface TestOptions {
  tool?: string;
  settings?: string;
  group?: string[];
  crowd?: number;
  emailDomain: string;
  yes?: true;
  json?: true;
}

function createTestCommand(terminal: Terminal): Command {
  return new Command('test')
    .description('run the suite that every adapter must pass against a tool, with made-up people')
    .argument('[file]', 'an adapter in a file, instead of a configured tool')
    .option('--tool <name>', 'a tool of the configuration')
    .option('--settings <file>', 'JSON: what would stand under "tools.<name>", for the file')
    .option('--group <id>', 'a group to add them to; name two that exist', addGroup)
    .option('--crowd <people>', 'add so many at once: more than the tool shows on a page', toCrowd)
    .option('--email-domain <domain>', 'where their addresses are', toDomain, 'example.com')
    .option('--yes', 'do it: without this it says what it would do')
    .option('--json', 'print one JSON object instead of a line for each case')
    .action((file: string | undefined, options: TestOptions, command: Command) =>
      runTest(terminal, file, options, command),
    );
}

async function runTest(
  terminal: Terminal,
  file: string | undefined,
  options: TestOptions,
  command: Command,
): Promise<void> {
  const groups = toGroups(options.group ?? [], command);
  const subject = toSubject(file, options, command);
  const canaries = createCanaries(options.emailDomain);
  if (!options.yes) {
    // Nothing was tested, and a script that forgot it must not take that for success.
    const plan = planOf(subject, groups, canaries, options.emailDomain);
    command.error(`error: ${plan}; --yes does it`);
  }
  const tool =
    file === undefined ? findTool(command, subject) : loadToolFile(file, options.settings, toQuery(command).env);
  const adapter = await loadAdapter(subject, tool);
  const harness = {
    adapter,
    groups,
    person: canaries.person,
    hasEveryGroup: false,
    timeoutMs: tool.timeoutMs,
    ...(options.crowd !== undefined && { crowd: options.crowd }),
  };
  const cases: ConformanceResult[] = [];
  for await (const result of runConformance(harness)) {
    const shown = toShown(result);
    cases.push(shown);
    if (!options.json) terminal.stdout.write(`${toLine(shown)}\n`);
    if (terminal.signal.aborted) break;
  }
  const verdict = await conclude(terminal, cases, adapter, groups, canaries);
  const report = { subject, groups, cases, ...verdict };
  if (options.json) terminal.stdout.write(`${JSON.stringify(report)}\n`);
  if (verdict.why !== undefined) throw new AppError('internal', verdict.why);
}

/** One will do: a tool may have no second. */
function toGroups([one, ...more]: string[], command: Command): [string, ...string[]] {
  if (one === undefined || more.length > 1 || more.includes(one)) {
    command.error('error: name two groups that exist, or one where there is one: --group <id> --group <another>');
  }
  return [one, ...more];
}

function toSubject(file: string | undefined, { tool, settings }: TestOptions, command: Command): string {
  if (file !== undefined && tool === undefined) return file;
  if (file === undefined && tool !== undefined && settings === undefined) return tool;
  command.error('error: name one: a file (and its --settings), or a configured tool with --tool');
}

interface Verdict {
  /** Why it is not a success. */
  why?: string;
  /** How many memberships of made-up people could not be undone. */
  leftBehind: number;
}

/** A case that failed may not have put back what it changed, so that is done here. */
async function conclude(
  terminal: Terminal,
  cases: ConformanceResult[],
  adapter: Adapter,
  groups: readonly string[],
  { sweep, prefix }: Canaries,
): Promise<Verdict> {
  const failed = cases.filter(({ outcome }) => outcome === 'failed').length;
  const isStopped = terminal.signal.aborted;
  if (failed === 0 && !isStopped) return { leftBehind: 0 };
  const leftBehind = await sweep(adapter, groups);
  const parts = [
    ...(failed > 0 ? [`${failed} of ${cases.length} cases failed`] : []),
    ...(isStopped ? [`stopped after ${cases.length} cases`] : []),
    ...(leftBehind > 0 ? [`people named ${prefix}-… may be left in the tool`] : []),
  ];
  return { why: parts.join('; '), leftBehind };
}

function findTool(command: Command, name: string): ToolConfig {
  const { tools } = loadCommandConfig(command).config;
  const tool = tools.get(name);
  if (tool !== undefined) return tool;
  const known = [...tools.keys()].join(', ');
  throw new AppError('invalid', `there is no tool "${name}" in the configuration; there is: ${known}`);
}

function planOf(subject: string, groups: readonly string[], { prefix }: Canaries, emailDomain: string): string {
  const names = groups.map((group) => `"${stripControl(group)}"`).join(' and ');
  return `this would add people named ${prefix}-…@${emailDomain} to the groups ${names} by ${subject}, and remove them again`;
}

/** What failed may quote the tool, and with it anybody. */
function toShown(result: ConformanceResult): ConformanceResult {
  if (result.reason === undefined) return result;
  return { ...result, reason: stripControl(maskText(result.reason)).slice(0, 500) };
}

function toLine({ name, outcome, reason }: ConformanceResult): string {
  return `${outcome.padEnd(7)}  ${name}${reason === undefined ? '' : `\n           ${reason}`}`;
}

function addGroup(id: string, before: string[] = []): string[] {
  return [...before, id];
}

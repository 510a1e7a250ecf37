import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Adapter } from '../adapters/adapter.ts';
import { type ConformanceResult, conformanceCases, runConformance } from '../adapters/conformance.ts';
import { loadAdapter } from '../adapters/load-adapters.ts';
import type { ToolConfig } from '../config/config-schema.ts';
import { loadToolFile } from '../config/load-config.ts';
import { AppError } from '../domain/errors.ts';
import { maskText } from '../lib/mask.ts';
import { stripControl } from '../lib/text.ts';
import { version } from '../lib/version.ts';
import { type Canaries, createCanaries } from './canaries.ts';
import type { testArguments, testOptions } from './commands/inputs.ts';
import type { Printed } from './define-command.ts';
import type { GivenOf } from './options.ts';
import type { Session, Terminal } from './session.ts';
import { loadCommandConfig, toQuery } from './with-storage.ts';

type TestOptions = GivenOf<typeof testArguments & typeof testOptions>;

/** `gangway adapter test`: for whoever writes an adapter. */
export async function runAdapterTest(options: TestOptions, session: Session): Promise<Printed> {
  const { terminal } = session;
  const { file, settings, emailDomain, json } = options;
  const groups = toGroups(options.group, session);
  const subject = toSubject(options, session);
  const canaries = createCanaries(emailDomain);
  // A script that forgot `--yes` must not take this for a success.
  if (!options.yes) session.misuse(`${planOf(subject, groups, canaries, emailDomain)}; --yes does it`);
  const tool = file === undefined ? findTool(session, subject) : loadToolFile(file, settings, toQuery(session).env);
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
    if (!json) terminal.stdout.write(`${toLine(shown)}\n`);
    if (terminal.signal.aborted) break;
  }
  const verdict = await conclude(terminal, cases, adapter, groups, canaries);
  const data = { subject, groups, cases, ...verdict };
  if (verdict.why !== undefined) return { data, problems: [verdict.why], status: 1 };
  return {
    data,
    text: () => `\nThe adapter passes: ${countOf(cases, 'ok')} ok, ${countOf(cases, 'skipped')} skipped.`,
  };
}

/** One group is enough, because a tool may have no second. */
function toGroups([one, ...more]: string[], session: Session): [string, ...string[]] {
  if (one === undefined || more.length > 1 || more.includes(one)) {
    return session.misuse('name two groups that exist, or one where there is one: --group <id> --group <another>');
  }
  return [one, ...more];
}

function toSubject({ file, tool, settings }: TestOptions, session: Session): string {
  if (file !== undefined && tool === undefined) return file;
  if (file === undefined && tool !== undefined && settings === undefined) return tool;
  return session.misuse('name one: a file (and its --settings), or a configured tool with --tool');
}

interface Verdict {
  /** Why the test failed. */
  why?: string;
  /** How many memberships of made-up people could not be removed. */
  leftBehind: number;
}

/** Removes the made-up people that a failed case may have left behind. */
async function conclude(
  terminal: Terminal,
  cases: ConformanceResult[],
  adapter: Adapter,
  groups: readonly string[],
  { sweep, prefix }: Canaries,
): Promise<Verdict> {
  const failed = countOf(cases, 'failed');
  const isStopped = terminal.signal.aborted;
  if (failed === 0 && !isStopped) return { leftBehind: 0 };
  const leftBehind = await sweep(adapter, groups);
  const parts = [
    ...(failed > 0 ? [`${failed} of ${cases.length} cases failed`] : []),
    ...(failed > 0 && !isStopped && cases.length < conformanceCases.length
      ? ['the others need the one that failed']
      : []),
    ...(isStopped ? [`stopped after ${cases.length} cases`] : []),
    ...(leftBehind > 0 ? [`people named ${prefix}-… may be left in the tool`] : []),
  ];
  return { why: parts.join('; '), leftBehind };
}

function countOf(cases: readonly ConformanceResult[], outcome: ConformanceResult['outcome']): number {
  return cases.filter((one) => one.outcome === outcome).length;
}

function findTool(session: Session, name: string): ToolConfig {
  const { tools } = loadCommandConfig(session, [`tools.${name}`]).config;
  const tool = tools.get(name);
  if (tool !== undefined) return tool;
  const known = [...tools.keys()].join(', ');
  throw new AppError('invalid', `there is no tool "${name}" in the configuration; there is: ${known}`);
}

function planOf(subject: string, groups: readonly string[], { prefix }: Canaries, emailDomain: string): string {
  const names = groups.map((group) => `"${stripControl(group)}"`).join(' and ');
  return `this would add people named ${prefix}-…@${emailDomain} to the groups ${names} by ${subject}, and remove them again`;
}

/** A reason may quote the tool, with addresses. */
function toShown(result: ConformanceResult): ConformanceResult {
  if (result.reason === undefined) return result;
  return { ...result, reason: stripControl(maskText(result.reason)).slice(0, 500) };
}

function toLine({ name, outcome, reason }: ConformanceResult): string {
  return `${outcome.padEnd(7)}  ${name}${reason === undefined ? '' : `\n           ${reason}`}`;
}

/** `gangway adapter new`: an adapter to start from, with a test. */
export function runAdapterNew({ file }: { file: string }): Printed {
  const name = path.basename(file, '.ts');
  const files = { adapter: file, test: path.join(path.dirname(file), `${name}.test.ts`) };
  write(files.adapter, toText('adapter.ts', name));
  write(files.test, toText('adapter.test.ts', name));
  return {
    data: files,
    text: () => `Wrote ${files.adapter}, and ${files.test} that tests it.

1. Install what "npm pack" makes in a checkout of Gangway: npm install --save-dev ./gangway-${version}.tgz
2. See that all cases pass: node --test ${files.test}
3. Put the requests of your tool in the adapter, and its answers in the test.
4. Try the tool itself: gangway adapter test ${files.adapter} --settings <file> --group <id> --yes`,
  };
}

/** The template runs as it is in a checkout. Elsewhere Gangway is a package. */
function toText(template: string, name: string): string {
  return readFileSync(new URL(`template/${template}`, import.meta.url), 'utf8')
    .replaceAll(/'\.\.\/\.\.\/adapters\/(\w+)\.ts'/g, "'gangway/$1'")
    .replaceAll("'./adapter.ts'", `'./${name}.ts'`);
}

function write(file: string, text: string): void {
  try {
    writeFileSync(file, text, { flag: 'wx' });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw new AppError('conflict', `${file} exists; name another file`);
    throw new AppError('invalid', `Could not write ${file}: ${message}`, { cause: error });
  }
}

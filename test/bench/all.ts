import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, release, totalmem } from 'node:os';
import { parseArgs } from 'node:util';

/**
 * `npm run bench -- --out bench.md`: all benchmarks, each in a short form and one after the other, in less than 25
 * minutes. One Markdown table, with the machine, its load and the commit: what each measures, by which command, and the
 * lines of its result. What fails, or takes longer than it may, is said. Ends with 1 then. `--only soak,store` for some.
 */
const { values } = parseArgs({
  options: {
    out: { type: 'string', default: 'bench.md' },
    only: { type: 'string' },
  },
});

interface Part {
  name: string;
  what: string;
  /** Beside `npm run bench:<name> --`. */
  args: string;
  /** What of its output is the result: a line each. */
  result: RegExp;
  limitMinutes: number;
}

const parts: readonly Part[] = [
  {
    name: 'receive',
    what: 'requests a second, ratio to Express that verifies, p50, p99, processor for each; then at 100 a second',
    args: '--rows 500000 --rounds 3 --seconds 2',
    result: /^(express|gangway|debian|bare|@octokit).*$/gm,
    limitMinutes: 6,
  },
  {
    name: 'store',
    what: 'storing a delivery: processor, user and system; read; written',
    args: '--rows 500000 --groups 100',
    result: /^(empty|full) .*$/gm,
    limitMinutes: 2,
  },
  {
    name: 'unsigned',
    what: 'memory under connections without a signature',
    args: '--connections 1000 --seconds 4',
    result: /^.+$/gm,
    limitMinutes: 1,
  },
  {
    name: 'console',
    what: 'pages of the console with 20,000 memberships and 200,000 deliveries',
    args: '--memberships 20000 --deliveries 200000 --receipts 200000 --rounds 5',
    result: /^(pages p95|memory after).*$/gm,
    limitMinutes: 2,
  },
  {
    name: 'converge',
    what: '300 members added and removed, against the least time that a tool of 50 ms allows',
    args: '--members 300',
    result: /^.+$/gm,
    limitMinutes: 2,
  },
  {
    name: 'drift',
    what: 'comparing a group of 500, and the same with 100,000 former members',
    args: '--rounds 5',
    result: /^.+$/gm,
    limitMinutes: 1,
  },
  {
    name: 'removals',
    what: 'looking at removals that all wait for the marketplace',
    args: '--rounds 5',
    result: /^.+$/gm,
    limitMinutes: 1,
  },
  {
    name: 'hire-to-access',
    what: 'from the hire until access, in a roster',
    args: '--roster --hires 10 --pause 500',
    result: /^(access|trainer).*$/gm,
    limitMinutes: 1,
  },
  {
    name: 'hostile',
    what: "what a flood of one customer costs another's hires",
    args: '--hires 10 --rounds 1 --burst 300',
    result: /^.+$/gm,
    limitMinutes: 2,
  },
  {
    name: 'turns',
    what: 'the same of floods that have to be read',
    args: '--hires 10',
    result: /^.+$/gm,
    limitMinutes: 3,
  },
  {
    name: 'reconcile',
    what: 'reading 5,000 contracts',
    args: '--contracts 5000 --pages links',
    result: /^.+$/gm,
    limitMinutes: 2,
  },
  {
    name: 'usage',
    what: 'reporting the work of 1,000 contracts: wall, processor, requests, least, days, memory, block',
    args: '--contracts 1000',
    result: /^(for the|nothing|1 %).*$/gm,
    limitMinutes: 2,
  },
  {
    name: 'usage-import',
    what: 'importing 100,000 lines of work',
    args: '--lines 100000',
    result: /^.+$/gm,
    limitMinutes: 2,
  },
  {
    name: 'start',
    what: 'processor and memory of a start and of a bridge with nothing to do',
    args: '--contracts 300 --seconds 5',
    result: /^.+\d$/gm,
    limitMinutes: 5,
  },
  {
    name: 'soak',
    what: '100 deliveries a second with hires, ends, readings and work for two minutes',
    args: '--minutes 2 --rate 100',
    result: /^\| (?!what|-).*$/gm,
    limitMinutes: 5,
  },
];

/** They are left out here, as they install a Label Studio. */
const leftOut = ['label-studio'];
const mostLines = 24;

await main();

async function main(): Promise<void> {
  const wanted = values.only?.split(',');
  const begun = describeMachine();
  const rows: string[] = [];
  for (const part of parts) {
    if (wanted !== undefined && !wanted.includes(part.name)) continue;
    process.stderr.write(`${part.name} …\n`);
    rows.push(await run(part));
  }
  const report = [
    ...begun,
    `Load at the end: ${loadavg().map(toRounded).join(', ')}; ${new Date().toISOString()}.`,
    `Not part of it: ${leftOut.map((name) => `\`npm run bench:${name}\``).join(', ')}.`,
    '',
    '| name | what | result | command |',
    '|---|---|---|---|',
    ...rows,
    '',
  ].join('\n');
  writeFileSync(values.out, report);
  process.stdout.write(report);
}

function describeMachine(): string[] {
  const memory = (totalmem() / 1024 ** 3).toFixed(0);
  return [
    `Begun ${new Date().toISOString()} at the commit ${readCommit()}.`,
    `${cpus().length} cores (${cpus()[0]?.model.trim()}), ${memory} GiB, Linux ${release()}, Node ${process.version}.`,
    `Load at the begin: ${loadavg().map(toRounded).join(', ')}.`,
  ];
}

function readCommit(): string {
  const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8' }).trim();
  const changed = git('status', '--porcelain', '--untracked-files=no') === '' ? '' : ', with changes';
  return `\`${git('rev-parse', '--short', 'HEAD')}\`${changed}`;
}

async function run({ name, what, args, result, limitMinutes }: Part): Promise<string> {
  const begunAt = performance.now();
  const child = spawn(process.execPath, [fileOf(name), ...args.split(' ')], {
    stdio: ['ignore', 'pipe', 'pipe'],
    // With all that it starts, it is ended as one where it takes too long.
    detached: true,
  });
  const output = collect(child);
  let isLate = false;
  const limit = setTimeout(() => {
    isLate = true;
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  }, limitMinutes * 60_000);
  await once(child, 'close');
  clearTimeout(limit);
  const seconds = ((performance.now() - begunAt) / 1000).toFixed(0);
  const lines = output.text.match(result) ?? [];
  const failure = describeFailure(isLate, limitMinutes, child.exitCode, output.errors);
  if (failure !== null || lines.length === 0) process.exitCode = 1;
  const said = lines.slice(0, mostLines).map((line) => line.replaceAll('|', ' ').replace(/\s+/g, ' ').trim());
  const cell = [...(failure === null ? [] : [`**${failure}**`]), ...(lines.length === 0 ? ['**no result**'] : said)];
  return `| ${name} | ${what} | ${cell.join('<br>')} | \`npm run bench:${name} -- ${args}\` (${seconds} s) |`;
}

/** As its script has it. */
function fileOf(name: string): string {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
  const [, file = ''] = (scripts[`bench:${name}`] ?? '').split(' ');
  return file;
}

function collect(child: ChildProcess): { text: string; errors: string } {
  const output = { text: '', errors: '' };
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    output.text += chunk;
  });
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    output.errors += chunk;
  });
  return output;
}

function describeFailure(isLate: boolean, minutes: number, status: number | null, errors: string): string | null {
  if (isLate) return `ended after ${minutes} minutes, which is its limit`;
  if (status === 0) return null;
  const last = errors.split('\n').find((line) => /error/i.test(line)) ?? '';
  return `ended with ${status}${last && `: ${last.slice(0, 200)}`}`;
}

function toRounded(load: number): string {
  return load.toFixed(1);
}

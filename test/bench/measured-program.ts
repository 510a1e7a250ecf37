import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';

/** What a checkout runs as `gangway`, and what that takes of the machine. Linux only, as `/proc` tells it. */
export interface MeasuredProgram {
  /** Processor milliseconds of a command from its start to its end, without what Node itself takes. */
  timeOf(args: string[]): Promise<number>;
  countModules(args: string[]): Promise<number>;
  start(args: string[]): Promise<MeasuredProcess>;
}

export interface MeasuredProcess {
  receiverUrl: string;
  consoleUrl: string;
  pid: number;
  /** Processor milliseconds until it was ready, without what Node itself takes. */
  readyMs: number;
  usage(): Usage;
  stop(): Promise<void>;
}

export interface Usage {
  cpuMs: number;
  residentMiB: number;
  anonymousMiB: number;
}

const runs = 5;
/** Of the clock that `/proc` counts in. */
const msPerTick = 10;

/** Tells at the end how many files Node has loaded. */
const counting = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module';
  import { writeSync } from 'node:fs';
  let files = 0;
  registerHooks({ load(url, context, next) { files += url.startsWith('file:'); return next(url, context); } });
  process.on('exit', () => writeSync(2, '\\nmodules=' + files + '\\n'));
`)}`;

/** @param env what the program finds in its environment, besides the address of its compile cache */
export async function openProgram(checkout: string, env: Record<string, string>): Promise<MeasuredProgram> {
  const [, ...program] = readScript(checkout).split(' ');
  const command = program.map((part) => (existsSync(path.join(checkout, part)) ? path.join(checkout, part) : part));
  const nodeMs = await timeOf(['-e', '0']);

  function run(args: string[]): ChildProcess {
    return spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'pipe'] });
  }

  async function timeOf(args: string[]): Promise<number> {
    await end(run(args));
    const before = readChildTime();
    for (let number = 0; number < runs; number += 1) await end(run(args));
    return (readChildTime() - before) / runs;
  }

  return {
    timeOf: async (args) => (await timeOf([...command, ...args])) - nodeMs,
    async countModules(args) {
      const text = await end(run(['--import', counting, ...command, ...args]));
      return Number(/modules=(\d+)/.exec(text)?.[1]);
    },
    async start(args) {
      const child = run([...command, 'start', ...args]);
      const { receiverUrl, consoleUrl } = await untilRunning(child);
      const usage = () => readUsage(child.pid ?? 0);
      const readyMs = usage().cpuMs - nodeMs;
      return {
        receiverUrl,
        consoleUrl,
        pid: child.pid ?? 0,
        readyMs,
        usage,
        async stop() {
          child.kill('SIGTERM');
          if (child.exitCode === null) await once(child, 'exit');
        },
      };
    },
  };
}

/** `node …`, as the checkout's own `npm run gangway` has it. */
function readScript(checkout: string): string {
  const text = readFileSync(path.join(checkout, 'package.json'), 'utf8');
  return (JSON.parse(text) as { scripts: { gangway: string } }).scripts.gangway;
}

async function end(child: ChildProcess): Promise<string> {
  let text = '';
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  await once(child, 'close');
  return text;
}

async function untilRunning(child: ChildProcess): Promise<Pick<MeasuredProcess, 'receiverUrl' | 'consoleUrl'>> {
  if (child.stderr === null) throw new Error('the log of the bridge cannot be read');
  const log: string[] = [];
  return await new Promise((resolve, reject) => {
    child.once('exit', () => reject(new Error(`the bridge has ended: ${log.join('\n')}`)));
    createInterface({ input: child.stderr as NodeJS.ReadableStream }).on('line', (line) => {
      log.push(line);
      if (line.includes('Gangway is running')) resolve(JSON.parse(line));
    });
  });
}

/** Of all children that have ended. */
function readChildTime(): number {
  const [user = 0, system = 0] = readTimes('self').slice(2);
  return (user + system) * msPerTick;
}

/** Its own, user and system; then that of its children. */
function readTimes(pid: number | 'self'): number[] {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return fields.slice(11, 15).map(Number);
}

function readUsage(pid: number): Usage {
  const [user = 0, system = 0] = readTimes(pid);
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const mebibytes = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1024;
  return {
    cpuMs: (user + system) * msPerTick,
    residentMiB: mebibytes('VmRSS'),
    anonymousMiB: mebibytes('RssAnon'),
  };
}

/** Another commit of this repository, ready to run: built where it knows how. */
export function checkOut(commit: string, folder: string): string {
  const checkout = path.join(folder, 'before');
  const git = (...args: string[]) => execFileSync('git', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  git('clone', '--quiet', '--no-checkout', '--shared', '.', checkout);
  const id = git('rev-parse', commit).toString().trim();
  git('-C', checkout, 'checkout', '--quiet', id);
  // Its packages are taken to be this checkout's.
  execFileSync('ln', ['-s', path.resolve('node_modules'), path.join(checkout, 'node_modules')]);
  const { scripts } = JSON.parse(readFileSync(path.join(checkout, 'package.json'), 'utf8'));
  if (scripts.prepare !== undefined) execFileSync('npm', ['run', '-s', 'build'], { cwd: checkout });
  return checkout;
}

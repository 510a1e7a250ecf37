import type { Services } from '../app/services.ts';
import type { OpenStorage } from '../app/storage.ts';
import type { Config } from '../config/config-schema.ts';
import type { ErrorCode } from '../domain/errors.ts';
import type { InstallRegistry } from '../installs/install-registry.ts';
import { maskText } from '../lib/mask.ts';
import { eraseLine } from '../lib/readable-log.ts';

/** What a command runs with. Only types are imported here, so that declaring a command loads nothing. */
export interface Session {
  terminal: Terminal;
  /** The options of the command line that every command has. */
  line: { config?: string; envFile?: string; remote?: string };
  /** Ends the command with this error and status 64. */
  misuse(error: string): never;
}

/** The database is open. */
export interface StorageSession extends Session {
  config: Config;
  storage: OpenStorage;
}

/** The services of a bridge are open too. */
export interface ServicesSession extends StorageSession {
  services: Services;
  registry: InstallRegistry;
}

/** A running instance answers, instead of the database here. */
export interface RemoteSession extends Session {
  /** @throws AppError by the answer */
  ask<Answer>(operation: OperationName, given?: RemoteGiven): Promise<Answer>;
}

/** As in the API's document: `GET /plans/{plan}`. */
export type OperationName = `${'GET' | 'POST'} /${string}`;

export interface RemoteGiven {
  params?: Readonly<Record<string, string | number>>;
  query?: Readonly<Record<string, string | number | boolean | undefined>>;
  body?: object;
}

/** The session of a command, by what it opens. */
export interface Sessions {
  nothing: Session;
  storage: StorageSession;
  services: ServicesSession;
}

/** The process as a command sees it. stdout is data, stderr is for people. `signal` stops the command. */
export interface Terminal {
  stdout: NodeJS.WritableStream & { isTTY?: boolean };
  stderr: NodeJS.WritableStream & { isTTY?: boolean };
  stdin: NodeJS.ReadStream;
  signal: AbortSignal;
}

interface PrintedError {
  message: string;
  /** `usage`: the command was used wrongly. `failed`: a part of the work failed. */
  code: ErrorCode | 'usage' | 'failed';
  /** What another system said of it, for `--json` only. */
  details?: unknown;
}

/** A line on stderr; with `--json`, an object. */
export function printError({ stderr }: Terminal, { message, code, details }: PrintedError, json: boolean): void {
  const error = maskText(message);
  stderr.write(json ? `${JSON.stringify({ error, code, details })}\n` : `gangway: ${error}\n`);
}

const [drawEveryMs, lineEveryMs] = [100, 1000];

/** Shows progress on stderr: on a terminal a bar until the work ends, else a line each second. */
export async function withProgress<T>(
  { stderr }: Terminal,
  work: (onProgress: (says: string) => void) => Promise<T>,
): Promise<T> {
  const { isTTY = false, columns = 80 } = stderr as Partial<NodeJS.WriteStream>;
  let shownAt = performance.now() - (isTTY ? drawEveryMs : 0);
  let isDrawn = false;
  const onProgress = (says: string) => {
    if (performance.now() - shownAt < (isTTY ? drawEveryMs : lineEveryMs)) return;
    shownAt = performance.now();
    stderr.write(isTTY ? `${eraseLine}${`${barOf(says)}${says}`.slice(0, columns - 1)}` : `${says}\n`);
    isDrawn = isTTY;
  };
  try {
    return await work(onProgress);
  } finally {
    if (isDrawn) stderr.write(eraseLine);
  }
}

const barWidth = 20;

/** A sentence with a total, such as "3 of 10 installs are read", has a bar. */
function barOf(says: string): string {
  const [, done = 0, total = 0] = /\b(\d+) of (\d+)\b/.exec(says)?.map(Number) ?? [];
  if (total === 0) return '';
  const full = Math.min(barWidth, Math.floor((done / total) * barWidth));
  return `${'█'.repeat(full)}${'░'.repeat(barWidth - full)} `;
}

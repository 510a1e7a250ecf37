import type { z } from 'zod';
import type { Context } from '../context.ts';
import type { By } from '../db/audit-store.ts';
import type { InstallRegistry } from '../installs/install-registry.ts';
import type { WatchedClock } from '../lib/clock.ts';
import type { Loop } from '../lib/loop.ts';
import type { Channel } from '../notify/channels.ts';
import type { Check } from './check.ts';
import type { Show } from './show.ts';

/**
 * An operation is a question or an act of an operator, said once. The API's route and document, the command (also with
 * `--remote`), the MCP tool and the pages of the console follow from it.
 */
export interface Operation {
  /** In the command: `gangway <noun> <verb>`. A noun with one operation takes no verb. */
  noun: string;
  verb: string;
  /** The operationId of the API's document, such as `linksList`. */
  id: string;
  /** `get` changes nothing; `post` is an act. */
  method: 'get' | 'post';
  /** Below `/api/v1`, such as `/plans/{plan}`. Each part in braces is a field of the input. */
  path: string;
  summary: string;
  /** By default viewers read, and only operators act. */
  role: Role;
  /** `database` by default. */
  asks: Asks;
  /** Whether only the caller may see the answer. Then addresses in it are not masked. */
  isSecret: boolean;
  /** Whether the answer names people whom operators know from nowhere else. Then addresses are masked for viewers only. */
  isPersonal: boolean;
  /** The fields of the input that are arguments of the command, in this order. */
  args: readonly string[];
  /** False if a command with a body of its own does the same, such as `gangway connect`. */
  hasCommand: boolean;
  in: z.ZodType<object>;
  out: z.ZodObject;
  run(input: object, ctx: OperationContext, call: Call): unknown;
  show: Show<object>;
  problems(answer: object): readonly string[];
  status(answer: object, input: object): ExitStatus;
  questions(answer: object): readonly Question[];
}

/** A question to a person at a terminal. Its answer becomes `key=value` in the field `set`, and the operation runs again. */
export interface Question {
  says: string;
  key: string;
}

export type Role = 'viewer' | 'operator';

/**
 * What a command opens to run an operation itself. All include the database. `channels` are those of notifications.
 * `services` know what sources and tools can do, but ask none of them and need no secret. `marketplace` and `tools`
 * include the services.
 */
export type Asks = 'database' | 'channels' | 'services' | 'marketplace' | 'tools';

/** 1: something failed; 2: there is something to do; 3: something waits for a decision. */
export type ExitStatus = 0 | 1 | 2 | 3;

export interface OperationContext extends Context {
  clock: WatchedClock;
  /** Undefined if variables have the whole configuration. */
  configFile?: string | undefined;
  /** Loading it makes the loops follow the changes. */
  registry: InstallRegistry;
  /** Where notifications are sent. */
  channels: readonly Channel[];
  /** Runs all checks of `gangway doctor`. */
  examine(signal: AbortSignal): Promise<Check[]>;
}

/** One call of an operation. */
export interface Call {
  by: By;
  role: Role;
  /** Aborted when the call takes too long, and when the caller of a read goes away. */
  signal: AbortSignal;
  /** The loops that a command runs while it waits. Empty in an instance, which runs them anyway. */
  loops: readonly Loop[];
  onProgress(says: string): void;
}

type Optional = Partial<Pick<Operation, 'role' | 'asks' | 'isSecret' | 'isPersonal' | 'hasCommand'>>;

interface Declared<In extends z.ZodType<object>, Out extends z.ZodObject> extends Optional {
  /** By default the fields of the path, without the install. */
  args?: readonly KeyOf<z.output<In>>[];
  in: In;
  out: Out;
  run(input: z.output<In>, ctx: OperationContext, call: Call): z.input<Out> | Promise<z.input<Out>>;
  show: Show<z.output<Out>>;
  /** What failed. The command prints it on stderr and exits with 1, unless `status` says otherwise. */
  problems?(answer: z.output<Out>): readonly string[];
  status?(answer: z.output<Out>, input: z.output<In>): ExitStatus;
  /** What is missing, and a person can answer. */
  questions?(answer: z.output<Out>): readonly Question[];
}

/** The fields of all members of a union. */
type KeyOf<T> = T extends unknown ? keyof T & string : never;

export type Unnamed = Omit<Operation, 'noun' | 'verb' | 'id'>;

export function read<In extends z.ZodType<object>, Out extends z.ZodObject>(
  address: `GET /${string}`,
  summary: string,
  declared: Declared<In, Out>,
): Unnamed {
  return define('get', address, summary, declared);
}

export function act<In extends z.ZodType<object>, Out extends z.ZodObject>(
  address: `POST /${string}`,
  summary: string,
  declared: Declared<In, Out>,
): Unnamed {
  return define('post', address, summary, declared);
}

/** @param some by verb; `list` is the default verb */
export function group(noun: string, some: Readonly<Record<string, Unnamed>>): readonly Operation[] {
  return Object.entries(some).map(([verb, operation]) => ({ ...operation, noun, verb, id: toId(noun, verb) }));
}

function define<In extends z.ZodType<object>, Out extends z.ZodObject>(
  method: Operation['method'],
  address: string,
  summary: string,
  declared: Declared<In, Out>,
): Unnamed {
  const path = address.slice(address.indexOf('/'));
  const { problems = () => [] } = declared;
  const status = declared.status ?? ((answer) => (problems(answer).length > 0 ? 1 : 0));
  return {
    role: method === 'get' ? 'viewer' : 'operator',
    asks: 'database',
    isSecret: false,
    isPersonal: false,
    hasCommand: true,
    args: fieldsOfPath(path).filter((field) => field !== 'install'),
    questions: () => [],
    ...declared,
    method,
    path,
    summary,
    // Safe, because the schemas of the operation check its inputs and answers.
    ...({ problems, status } as unknown as Pick<Operation, 'problems' | 'status'>),
  } as unknown as Unnamed;
}

export function fieldsOfPath(path: string): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, field = '']) => field);
}

function toId(noun: string, verb: string): string {
  return `${noun}-${verb}`.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

import { Argument, Command, Option } from 'commander';
import { withoutMilliseconds } from '../operations/text-table.ts';
import type { GivenOf, Input, Inputs } from './options.ts';
import { printError, type RemoteSession, type Session, type Sessions, type Terminal } from './session.ts';

type None = Record<never, never>;

export type CreateCommand = (terminal: Terminal) => Command;

/** The values of a command's arguments and options. */
export type Given<Arguments extends Inputs, Options extends Inputs> = GivenOf<Arguments & Options>;

/** 1: something failed; 2: something is due; 3: something waits for a decision. */
export type ExitStatus = 0 | 1 | 2 | 3;

export interface Printed {
  /** One object, for `--json`. */
  data: unknown;
  /** For people. */
  text?: () => string;
  /** Each a line on stderr. */
  problems?: readonly string[];
  status?: ExitStatus;
}

type CommandDeclaration<Arguments extends Inputs, Options extends Inputs, Opens extends keyof Sessions> = Declared<
  Arguments,
  Options,
  Opens
> &
  (
    | {
        /** Imports the function that asks a running instance, for `--remote`. */
        remote(): Promise<(given: Given<Arguments, Options>, session: RemoteSession) => Promise<Printed | undefined>>;
        local?: never;
      }
    | {
        /** Why there is no `--remote`. */
        local: string;
        remote?: never;
      }
  );

interface Declared<Arguments extends Inputs, Options extends Inputs, Opens extends keyof Sessions> {
  name: string;
  description: string;
  /** In the order of the command line. */
  arguments?: Arguments;
  options?: Options;
  /** What `--json` does, if it does not print one JSON object instead of text. */
  json?: string;
  /** Printed at the end of the help. */
  notes?: string;
  subcommands?: readonly CreateCommand[];
  /** What is open while it runs. */
  opens?: Opens;
  /** The parts of the configuration whose secrets it uses, such as `tools`, besides the database. */
  uses?(given: Given<Arguments, Options>): readonly string[];
  /** @returns why the values do not go together; false or undefined if they do */
  misuse?(given: Given<Arguments, Options>): string | false | undefined;
  /** Imports the function that the command runs, so that declaring all commands loads nothing else. */
  run(): Promise<
    (given: Given<Arguments, Options>, session: Sessions[Opens]) => Printed | undefined | Promise<Printed | undefined>
  >;
}

export function defineCommand<
  Arguments extends Inputs = None,
  Options extends Inputs = None,
  Opens extends keyof Sessions = 'nothing',
>(declaration: CommandDeclaration<Arguments, Options, Opens>): CreateCommand {
  const { name, description, notes, subcommands = [] } = declaration;
  return (terminal) => {
    const command = new Command(name).description(description);
    for (const input of Object.values(declaration.arguments ?? {})) command.addArgument(toArgument(input));
    for (const [key, input] of Object.entries(declaration.options ?? {})) command.addOption(toOption(key, input));
    command.option('--json', declaration.json ?? 'Print one JSON object instead of text');
    if (notes !== undefined) command.addHelpText('after', `\n${notes}`);
    for (const create of subcommands) command.addCommand(create(terminal));
    return command.action(async () => {
      const session = createSession(terminal, command);
      const given = readGiven(command, declaration) as Given<Arguments, Options>;
      const misuse = declaration.misuse?.(given);
      if (misuse) session.misuse(misuse);
      const { remote, local, opens, uses = () => [] } = declaration;
      const { remote: url } = session.line;
      if (url !== undefined) {
        if (remote === undefined) return session.misuse(`"${name}" does not take --remote: ${local}`);
        const { openRemote } = await import('./open-remote.ts');
        print(terminal, given.json, await (await remote())(given, openRemote(session, url)));
        return;
      }
      const run = await declaration.run();
      await withOpened(session, opens, { uses: uses(given) }, async (opened) => {
        print(terminal, given.json, await run(given, opened as Sessions[Opens]));
      });
    });
  };
}

/** Opens what a command needs, and closes it after the work. */
async function withOpened(
  session: Session,
  opens: keyof Sessions = 'nothing',
  needs: { uses: readonly string[] },
  work: (opened: Session) => Promise<void>,
): Promise<void> {
  if (opens === 'nothing') return await work(session);
  if (opens === 'storage') return await (await import('./with-storage.ts')).withStorage(session, needs, work);
  await (await import('./with-services.ts')).withServices(session, needs, work);
}

/** A command that only has subcommands. */
export function defineGroup(name: string, description: string, commands: readonly CreateCommand[]): CreateCommand {
  return (terminal) => {
    const group = new Command(name).description(description);
    for (const create of commands) group.addCommand(create(terminal));
    return group;
  };
}

/** Thrown after a command has printed everything, to end with its status. */
export class Ending extends Error {
  readonly status: ExitStatus;

  constructor(status: ExitStatus) {
    super(`ended with ${status}`);
    this.name = 'Ending';
    this.status = status;
  }
}

function toArgument({ term = '', description, ...input }: Input<unknown>): Argument {
  return withValue(new Argument(term, description), input);
}

function toOption(key: string, { term, description, ...input }: Input<unknown>): Option {
  const name = toKebab(key);
  return withValue(new Option(term === undefined ? `--${name}` : `--${name} ${term}`, description), input);
}

/** The name of an argument or an option on the command line: `dryRun` is `dry-run`. */
export function toKebab(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`).replaceAll('_', '-');
}

function withValue<Declared extends Argument | Option>(
  declared: Declared,
  { absent, isDefault, shown, choices, parse }: Omit<Input<unknown>, 'term' | 'description'>,
): Declared {
  if (isDefault) declared.default(absent, shown);
  if (choices) declared.choices(choices.map(String));
  if (parse) declared.argParser((text: string, before: unknown) => parse(text, before ?? absent));
  return declared;
}

/** Commander gives the value to a parent command that has the same option. */
function readGiven(command: Command, declared: { arguments?: Inputs; options?: Inputs }): Record<string, unknown> {
  const values: Record<string, unknown> = command.optsWithGlobals();
  const names = Object.keys(declared.arguments ?? {});
  for (const [index, name] of names.entries()) values[name] = command.processedArgs[index];
  const inputs = Object.entries({ ...declared.arguments, ...declared.options });
  const given = inputs.map(([name, { absent }]) => [name, values[name] ?? absent]);
  return { ...Object.fromEntries(given), json: values['json'] === true };
}

export function createSession(terminal: Terminal, command: Command): Session {
  return {
    terminal,
    line: command.optsWithGlobals(),
    misuse: (error) => command.error(`error: ${error}`),
  };
}

function print(terminal: Terminal, json: boolean, printed: Printed | undefined): void {
  if (printed === undefined) return;
  const { data, text, problems = [], status = 0 } = printed;
  if (json) terminal.stdout.write(`${JSON.stringify(data)}\n`);
  else if (text !== undefined) terminal.stdout.write(`${withoutMilliseconds(text())}\n`);
  for (const message of problems) printError(terminal, { message, code: 'failed' }, json);
  if (status !== 0) throw new Ending(status);
}

import { jobRule } from '../../config/text-rules.ts';
import { secret } from '../../config/values-schema.ts';
import type { Context } from '../../context.ts';
import { AppError } from '../../domain/errors.ts';
import type { SourceKind } from '../../domain/install.ts';

/** The people of a job are to work in a project. */
export interface WantedJob {
  job: string;
  project: string;
}

/**
 * Reads `job_1=street-signs`. A job may be named for several projects.
 *
 * @throws AppError `invalid`
 */
export function toWantedJobs(texts: readonly string[]): WantedJob[] {
  return texts.map((text) => {
    if (!jobRule.pattern.test(text)) throw new AppError('invalid', `The jobs of your account: ${jobRule.says}`);
    const end = text.indexOf('=');
    return { job: text.slice(0, end), project: text.slice(end + 1) };
  });
}

/** The tool that an install leads to, and the projects that it may reach. */
export interface Destination {
  tool: string;
  projects: readonly string[];
}

export function describeDestination({ tool, projects }: Destination): string {
  return `tool ${tool}, projects ${projects.join(', ')}`;
}

export interface Connecting {
  install: string;
  source: SourceKind;
  token: string;
  /** Of an employer's own account: whose people are to work where. They are added to those that are linked. */
  jobs: readonly WantedJob[];
  /** Null where the install is in the configuration file, which says it then. */
  destination: Destination | null;
  acceptsOrphans: boolean;
  /** Whether the install may belong to another customer from now on. */
  acceptsOtherCustomer: boolean;
}

interface Wanted {
  install: string;
  /** The kind of account; undefined for the kind that the install has, or a platform. */
  source: SourceKind | undefined;
  jobs: readonly WantedJob[];
  hasToken: boolean;
  tool: string | undefined;
  projects: readonly string[] | undefined;
}

/**
 * Where an install is to lead. One of the configuration is connected as it is written there: then the destination is
 * null, and `configured` its token.
 *
 * @throws AppError `invalid` where that cannot be, or where the operator has to say more
 */
export function settleWish(ctx: Pick<Context, 'config' | 'installs'>, wish: Wanted) {
  const { install, jobs, hasToken, tool, projects } = wish;
  const { config, installs } = ctx;
  const source = settleSource(install, installs.get(install)?.source, wish.source);
  if (jobs.length > 0 && source !== 'employer') {
    const message =
      'Jobs can be named only for your own account, with --employer. A customer links projects to jobs at the marketplace';
    throw new AppError('invalid', message);
  }
  const configured = config.installs.get(install);
  if (configured !== undefined) {
    if (!hasToken && tool === undefined && projects === undefined && jobs.length === 0) {
      return { source, destination: null, configured: configured.token };
    }
    throw new AppError('invalid', `${install} is in the configuration. Change its token, tool, projects or jobs there`);
  }
  return { source, destination: settleDestination(ctx, wish), configured: undefined };
}

/**
 * The requested destination, else the current one, else the only one there is.
 *
 * @throws AppError `invalid` where the operator has to name it, because customers are walled off from each other
 */
function settleDestination(
  { config, installs }: Pick<Context, 'config' | 'installs'>,
  { install, ...wanted }: Wanted,
): Destination {
  const [before, tools] = [installs.get(install), [...config.tools.keys()]];
  const tool = wanted.tool ?? before?.tool ?? onlyOf(tools);
  if (!tools.includes(tool)) {
    throw new AppError('invalid', `There is no tool "${tool}"; there are: ${tools.join(', ')}`);
  }
  const projects = wanted.projects ?? (before?.tool === tool ? before.projects : undefined);
  if (projects !== undefined) return { tool, projects };
  if ([...installs].some(([name, other]) => name !== install && other.tool === tool)) {
    throw new AppError(
      'invalid',
      `Other installs use the tool "${tool}" too. Name this customer's projects with --projects`,
    );
  }
  return { tool, projects: ['*'] };
}

function onlyOf(tools: readonly string[]): string {
  const [tool] = tools;
  if (tool !== undefined && tools.length === 1) return tool;
  throw new AppError(
    'invalid',
    tool === undefined
      ? 'No tool is configured. Add one under "tools" in the configuration'
      : `Choose a tool with --tool: ${tools.join(', ')}`,
  );
}

/** @throws AppError `conflict` for an account of another kind: what is known of the install would be nothing of its */
function settleSource(install: string, known: SourceKind | undefined, wanted: SourceKind | undefined): SourceKind {
  if (known === undefined || wanted === undefined || wanted === known) return wanted ?? known ?? 'platform';
  const is = known === 'platform' ? 'the platform of a customer' : 'your own account';
  throw new AppError('conflict', `${install} is ${is}. Choose another name for an account of the other kind`);
}

/** @throws AppError `invalid` for a text that cannot be a token */
export function toToken(text: string): string {
  const checked = secret.safeParse(text.trim());
  if (checked.success) return checked.data;
  throw new AppError('invalid', `The token ${checked.error.issues[0]?.message}`);
}

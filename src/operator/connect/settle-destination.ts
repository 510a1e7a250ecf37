import { AppError } from '../../domain/errors.ts';
import type { Install } from '../../domain/install.ts';

/** The tool that an install leads to, and the projects that it may reach. */
export interface Destination {
  tool: string;
  projects: readonly string[];
}

export function describeDestination({ tool, projects }: Destination): string {
  return `tool ${tool}, projects ${projects.join(', ')}`;
}

interface Known {
  /** Where it leads now. */
  before: Destination | undefined;
  /** All installs but this one. */
  others: readonly Install[];
  /** The names of the configured tools. */
  tools: readonly string[];
}

/**
 * The requested destination, else the current one, else the only one there is.
 *
 * @throws AppError `invalid` where the operator has to name it, because customers are walled off from each other
 *   (docs/design.md, Memberships)
 */
export function settleDestination(wanted: Partial<Destination>, { before, others, tools }: Known): Destination {
  const tool = wanted.tool ?? before?.tool ?? onlyOf(tools);
  if (!tools.includes(tool)) {
    throw new AppError('invalid', `There is no tool "${tool}"; there is: ${tools.join(', ')}`);
  }
  const projects = wanted.projects ?? (before?.tool === tool ? before.projects : undefined);
  if (projects !== undefined) return { tool, projects };
  if (others.some((other) => other.tool === tool)) {
    throw new AppError(
      'invalid',
      `Other installs use the tool "${tool}" too: name the projects that are this customer's, with --projects`,
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
      ? 'No tool is configured: name one under "tools" in the configuration first'
      : `Name the tool that gets the people, with --tool; there is: ${tools.join(', ')}`,
  );
}

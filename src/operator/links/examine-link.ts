import type { Adapter } from '../../adapters/adapter.ts';
import { toAppError } from '../../domain/errors.ts';
import { provisioningOf } from '../../domain/evidence-status.ts';
import { maskText } from '../../lib/mask.ts';
import type { Walls } from '../../memberships/wall.ts';
import type { Link, Source } from '../../sources/source.ts';
import { callTool } from '../../tools/call-tool.ts';

const timeoutMs = 10_000;

/** Asks the tool for the project of a new link, and the marketplace for its job. @returns why no trainer would get in */
export async function examineLink(
  walls: Walls,
  source: Pick<Source, 'listContracts'>,
  install: string,
  link: Link,
  signal: AbortSignal,
): Promise<string[]> {
  if (provisioningOf(link.provisioningMode) === 'of_marketplace') return [];
  const { tool = '' } = walls.installs.get(install) ?? {};
  const adapter = walls.adapters.get(tool);
  const found = [
    adapter && (await examineProject(adapter, tool, link, signal)),
    await examineJob(source, link, signal),
  ];
  return found.filter((says) => says !== undefined).map((says) => maskText(says));
}

async function examineProject(
  adapter: Adapter,
  tool: string,
  link: Link,
  signal: AbortSignal,
): Promise<string | undefined> {
  const project = link.externalProjectId;
  try {
    await callTool(timeoutMs, signal, (callSignal) => askForProject(adapter, link, callSignal));
    return undefined;
  } catch (error) {
    const { code, message } = toAppError(error);
    if (code === 'not_found') return `${tool} has no project ${project}: no trainer gets in until it exists`;
    return `it is unknown whether ${tool} has the project ${project}: ${message}`;
  }
}

/** By its guidelines, because members may be those of an organization with many projects. */
async function askForProject(adapter: Adapter, link: Link, signal: AbortSignal): Promise<void> {
  if (adapter.readGuidelines !== undefined) {
    await adapter.readGuidelines(link.externalProjectId, signal);
    return;
  }
  const members = adapter.listMembers?.(adapter.groupFor(link), signal)[Symbol.asyncIterator]();
  await members?.next();
  await members?.return?.();
}

async function examineJob(
  source: Pick<Source, 'listContracts'>,
  { id, jobId }: Link,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (typeof jobId !== 'string') return 'the link has no job, so no trainer is ever hired by it';
  try {
    const filter = { status: 'active', projectLinkId: id, wantsMore: () => false } as const;
    const { unreadLinks: [refused] = [] } = await source.listContracts(filter, signal);
    return refused && `the job ${jobId} cannot be read: ${refused.refusal.message}`;
  } catch (error) {
    return `the job ${jobId} cannot be read: ${toAppError(error).message}`;
  }
}

import type { LinkEvidence } from '../domain/evidence.ts';
import type { Crossing } from './wall.ts';

type ExplainedLink = Pick<LinkEvidence, 'install' | 'externalProjectId'> &
  Partial<Pick<LinkEvidence, 'provisioningMode'>>;

/** Why a link is outside the wall of its install, and what to do about it. Pure. */
export function explainCrossing(
  crossing: Crossing,
  { install, externalProjectId: project, provisioningMode: mode = null }: ExplainedLink,
): { says: string; action: string } {
  const projects = `installs.${install}.projects`;
  const says: Record<Crossing, { says: string; action: string }> = {
    unknown_mode: {
      says: `Project ${project} is provisioned in mode ${mode}, which this version does not know`,
      action: 'Check whether a newer version knows it. Members stay, and no trainer is added',
    },
    not_named: {
      says: `Project ${project} is not one of the projects of ${install}`,
      action: `Add it to ${projects} if it belongs to this customer`,
    },
    anothers: {
      says: `Project ${project} is not one of the projects of ${install}: a pattern of another install matches it more closely, if only in another case or Unicode form`,
      action: `Name the whole id in ${projects} if it belongs to this customer`,
    },
    strange_id: {
      says: `Project ${project} is outside every wall: the tool may mistake its id for another project's (it contains "/", "\\" or "%", is "." or "..", has surrounding space or invisible characters, spells a number in another way, or is not written as the tool writes it)`,
      action: `Have ${install} link the project by its id as the tool writes it`,
    },
    no_group: {
      says: `The adapter has no group for project ${project}`,
      action: 'Fix the adapter, or have the customer link another project',
    },
  };
  return says[crossing];
}

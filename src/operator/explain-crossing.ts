import type { LinkEvidence } from '../domain/evidence.ts';
import type { Crossing } from '../memberships/wall.ts';

type ExplainedLink = Pick<LinkEvidence, 'install' | 'externalProjectId'> &
  Partial<Pick<LinkEvidence, 'provisioningMode'>>;

/** Why a link is outside the wall of its install, and what to do about it. Pure. */
export function explainCrossing(
  crossing: Crossing,
  { install, externalProjectId: project, provisioningMode: mode = null }: ExplainedLink,
): { says: string; action: string } {
  const projects = `installs.${install}.projects`;
  switch (crossing) {
    case 'unknown_mode':
      return {
        says: `${project} is provisioned in the mode ${mode}, which this version does not know`,
        action: 'see whether a newer version knows it; members stay, and no trainer is added',
      };
    case 'not_named':
      return {
        says: `${project} is outside the projects of ${install}`,
        action: `add it to ${projects} if it is this customer's`,
      };
    case 'anothers':
      return {
        says: `${project} is outside the projects of ${install}: a pattern of another install fits it more closely, if only in another case or another form of its letters`,
        action: `name the whole id in ${projects} if it is this customer's`,
      };
    case 'strange_id':
      return {
        says: `${project} is outside every wall: the tool may take its id for that of another project (it has "/", "\\", "%", ".", "..", space around it or characters that do not show, spells a number in another way, or is not as the tool writes it)`,
        action: `have ${install} link the project by an id that is written as the tool writes it`,
      };
    case 'no_group':
      return {
        says: `the adapter gives no group for ${project}`,
        action: 'mend the adapter, or have the customer link another project',
      };
  }
}

import { z } from 'zod';
import { listToolTroubles } from '../converge/tool-trouble-store.ts';
import type { Row } from '../db/schema.ts';
import type { ContractEvidence, LinkEvidence, PairEvidence } from '../domain/evidence.ts';
import { isOperatorContradicted, provisioningOf, statusOfContract } from '../domain/evidence-status.ts';
import type { RouteLink } from '../domain/install.ts';
import type { RequiredReadings } from '../domain/required-readings.ts';
import { findEnds, type RemovalCause } from '../domain/standing.ts';
import { isTroubleCurrent, type ToolTrouble } from '../domain/tool-trouble.ts';
import { maskText } from '../lib/mask.ts';
import { sayInstants } from '../lib/units.ts';
import { type Bearing, type ExplainedPerson, loadBearing } from '../memberships/explain-store.ts';
import { createLinkRouter, explainCrossing, outsideOf, type Walls } from '../memberships/wall.ts';
import { loadRequired } from '../removals/reading-store.ts';
import { scopeOfLink } from '../usage/read/scope-store.ts';
import { explainAddress, explainMembership } from './explain-membership.ts';
import type { OperationContext } from './operation.ts';
import { maybeText, named } from './values.ts';

const Step = z.object({
  step: z.enum(['install', 'contract', 'person', 'link', 'address', 'membership']),
  holds: z.boolean(),
  says: z.string(),
});

/**
 * Why a trainer is in a tool or not, step by step from the install to the login. If one step does not hold, the later
 * ones still say what they can.
 */
export const Explanation = named('Explanation', {
  trainerId: maybeText,
  displayName: maybeText,
  install: z.string(),
  contractId: z.string(),
  steps: z.array(Step),
  action: z.string().describe('What to do, even if that is to wait or nothing.'),
});

export type Explanation = z.output<typeof Explanation>;

/** Whether a running instance would still change something. */
export function isToChange({ action }: Explanation): boolean {
  return action.startsWith('Wait. ') || action.includes('still in');
}

/**
 * Why a trainer, by id or work address, or the people of a contract have access or not. Empty if no source has named
 * them.
 *
 * @param isIncluded which contracts with which links to explain; by default all
 */
export async function explainSubject(
  ctx: OperationContext,
  subject: string,
  isIncluded: (pair: PairEvidence) => boolean = () => true,
): Promise<{ bearing: Bearing; explanations: Explanation[] }> {
  const { installs, adapters } = ctx;
  const bearing = await loadBearing(ctx, subject);
  const now = ctx.clock.now();
  const troubles = (await listToolTroubles(ctx)).filter((trouble) => isTroubleCurrent(trouble, now));
  const rules = {
    installs,
    adapters,
    routeLink: createLinkRouter(installs, adapters),
    managedDomains: ctx.config.marketplace.managedDomains,
    troubles: new Map(troubles.map((trouble) => [trouble.tool, trouble])),
    required: await loadRequired(ctx, bearing.memberships, (link) => scopeOfLink(ctx, link)),
  };
  return { bearing, explanations: explain({ ...bearing, pairs: bearing.pairs.filter(isIncluded) }, rules) };
}

export interface ExplainRules extends Walls {
  routeLink: RouteLink;
  managedDomains: readonly string[];
  /** Tools to which calls are paused, and why. */
  troubles: ReadonlyMap<string, ToolTrouble>;
  /** By membership: what its removal waits for. */
  required: ReadonlyMap<number, RequiredReadings>;
}

/** Pure: one explanation for each trainer, contract and link. */
export function explain(bearing: Bearing, rules: ExplainRules): Explanation[] {
  return bearing.contracts.flatMap((contract) => {
    const { install, contractId } = contract;
    const isOnIt = isOf({ install, contractId });
    const trainers = bearing.participations.filter(isOnIt).map(({ trainerId }) => trainerId);
    const links = bearing.pairs.filter(isOnIt).map(({ linkId }) => linkId);
    return (trainers.length === 0 ? [null] : trainers).flatMap((trainerId) =>
      (links.length === 0 ? [null] : links).map((linkId) =>
        explainOne(bearing, rules, { contract, trainerId, linkId }),
      ),
    );
  });
}

interface Subject {
  contract: ContractEvidence;
  trainerId: string | null;
  linkId: string | null;
}

interface Judged extends z.output<typeof Step> {
  action: string;
  /** Evidence has ended the step, so access ends. */
  hasEnded?: true;
  /** Its action is the one to take even if an earlier step does not hold. */
  comesFirst?: boolean;
}

/** Why the reason has ended, and since when. Memberships are derived from the same ends. */
type Ends = ReadonlyMap<RemovalCause, string>;

function explainOne(bearing: Bearing, rules: ExplainRules, subject: Subject): Explanation {
  const { contract, trainerId, linkId } = subject;
  const { install, contractId } = contract;
  const person = bearing.people.find(isOf({ install, trainerId }));
  const link = bearing.links.find(isOf({ install, linkId }));
  const pair = bearing.pairs.find(isOf({ install, contractId, linkId }));
  const participation = bearing.participations.find(isOf({ install, contractId, trainerId }));
  const grants = bearing.grants.filter(isOf({ install }));
  const found = findEnds({ contract, link, pair, participation, grants });
  const ends: Ends = new Map(found.map(({ cause, since }) => [cause, since]));
  const reasons = [
    judgeInstall(install, rules, ends),
    judgeContract(contract, ends),
    judgePerson(participation && (person?.displayName ?? participation.trainerId), ends),
    judgeLink(rules, link, ends),
    judgeAddress(bearing, rules, person),
  ];
  const judged = [...reasons, ...judgeMemberships(bearing, rules, { ...subject, link, reasons })];
  const decisive = judged.find((one) => one.comesFirst) ?? judged.find(({ holds }) => !holds);
  const displayName = person?.displayName ?? null;
  return {
    trainerId,
    install,
    contractId,
    // Strangers choose names, and may choose an address.
    displayName: displayName && maskText(displayName),
    steps: judged.map(({ step, holds, says }) => ({ step, holds, says: sayInstants(maskText(says)) })),
    action: sayInstants(maskText((decisive ?? judged.at(-1))?.action ?? '')),
  };
}

function judgeInstall(install: string, { installs }: ExplainRules, ends: Ends): Judged {
  if (!installs.has(install)) {
    const action = `Configure ${install} again. To give up its people, run "gangway start --accept-orphans", then "gangway retire --install ${install}"`;
    return fails('install', `${install} is not configured`, action);
  }
  const since = ends.get('grant_revoked');
  if (since === undefined) return holds('install', `${install} is connected`);
  const action = `Have the customer connect ${install} again before its people are removed`;
  return ended('install', `The customer disconnected at ${since}`, action);
}

function judgeContract(contract: ContractEvidence, ends: Ends): Judged {
  switch (statusOfContract(contract)) {
    case 'active':
      return holds('contract', 'The contract is active');
    case 'disputed':
      return holds(
        'contract',
        'The contract is disputed: an event ended it, and the marketplace listed it as active later',
      );
    case 'ended': {
      const says = sayEnd(ends);
      if (!isOperatorContradicted(contract)) return ended('contract', says, 'Nothing. Access ends with the contract');
      const action = `Run gangway contracts reopen ${contract.contractId} if it goes on. Otherwise end it at the marketplace`;
      return ended('contract', `${says}; the marketplace still lists it as active`, action);
    }
    default:
      return fails(
        'contract',
        'The contract is unknown: no source has reported its start',
        'Wait for its event, or for the next reading of the marketplace',
      );
  }
}

function sayEnd(ends: Ends): string {
  const [deliveredAt, readAt] = [ends.get('contract_ended'), ends.get('contract_read_ended')];
  if (deliveredAt !== undefined) return `The contract ended at ${deliveredAt}, by event`;
  if (readAt !== undefined) return `The marketplace listed the contract as ended at ${readAt}`;
  return `An operator ended the contract at ${ends.get('contract_ended_by_operator')}`;
}

/** @param name or the id, if no name is known */
function judgePerson(name: string | undefined, ends: Ends): Judged {
  if (name === undefined) {
    const action = 'Wait for the next reading of the marketplace: the event of the contract did not name its trainers';
    return fails('person', 'No trainer is known to be on the contract', action);
  }
  const since = ends.get('participation_left');
  if (since === undefined) return holds('person', `${name} is on the contract`);
  const says = `${name} is no longer on the contract, since ${since}`;
  return ended('person', says, 'Nothing. Access ends when a trainer leaves the contract');
}

function judgeLink(rules: ExplainRules, link: LinkEvidence | undefined, ends: Ends): Judged {
  const isGone = ends.has('link_removed') || ends.has('link_absent');
  if (link === undefined || (link.externalProjectId === null && !isGone)) {
    const action = 'Have the customer link the job to a project, or wait for the next reading of the marketplace';
    return fails('link', 'No project is known to be linked to the job', action);
  }
  const { linkId, externalProjectId: project, provisioningMode } = link;
  if (isGone) {
    const says = `Link ${linkId} to project ${project} ${ends.has('link_removed') ? 'was removed' : 'is no longer listed'}`;
    return ended('link', says, 'Have the customer link the job again if these people are to stay');
  }
  const movedAt = ends.get('contract_moved');
  if (movedAt !== undefined) {
    const says = `The contract is listed under another job, not the one of project ${project}, since ${movedAt}`;
    return ended('link', says, 'Nothing. Access ends when a contract moves to another job');
  }
  const crossing = outsideOf(rules, link);
  if (crossing !== null) return { step: 'link', holds: false, ...explainCrossing(crossing, link) };
  if (provisioningOf(provisioningMode) === 'of_marketplace') {
    const says = `The marketplace itself provisions project ${project}`;
    return ended('link', says, 'Nothing. The marketplace adds and removes its members');
  }
  return holds('link', `The job is linked to project ${project}`);
}

function judgeAddress(bearing: Bearing, rules: ExplainRules, person: ExplainedPerson | undefined): Judged {
  const others = othersWhoDisagree(bearing, rules, person);
  const judged = explainAddress(person, rules.managedDomains, others);
  const isKept = !judged.holds && isIn(bearing, person);
  const says = isKept ? `${judged.says}; access given earlier keeps them in` : judged.says;
  return { step: 'address', ...judged, says };
}

/** Whether a contract of the install keeps the trainer in. */
function isIn({ memberships, reasons }: Bearing, person: ExplainedPerson | undefined): boolean {
  return memberships.some(
    ({ id, trainerId, wanted, state }) =>
      trainerId === person?.trainerId &&
      wanted &&
      (state === 'active' || state === 'invited') &&
      reasons.some(isOf({ membershipId: id, install: person.install })),
  );
}

/** Installs of the same tool that know another address for the trainer. */
function othersWhoDisagree(
  { people }: Bearing,
  { installs }: ExplainRules,
  person: ExplainedPerson | undefined,
): string[] {
  if (person?.workEmailDigest == null) return [];
  const tool = installs.get(person.install)?.tool;
  return people
    .filter(
      ({ install, trainerId, workEmailDigest }) =>
        trainerId === person.trainerId &&
        installs.get(install)?.tool === tool &&
        workEmailDigest !== null &&
        workEmailDigest !== person.workEmailDigest,
    )
    .map(({ install }) => install);
}

/** The memberships where the configuration leads now, and where it led when the reason was recorded. */
function judgeMemberships(
  { memberships, reasons: recorded, plans, invitations }: Bearing,
  { routeLink, troubles, required }: ExplainRules,
  {
    contract,
    trainerId,
    linkId,
    link,
    reasons,
  }: Subject & { link: LinkEvidence | undefined; reasons: readonly Judged[] },
): Judged[] {
  const { install, contractId } = contract;
  const route = link && routeLink(link);
  const isReason = isOf({ install, contractId, linkId });
  const led = new Set(recorded.filter(isReason).map((one) => one.membershipId));
  const isOfOthersAlone = ({ id }: Row<'membership'>) => {
    const of = recorded.filter(({ membershipId }) => membershipId === id);
    return of.length > 0 && !of.some(isOf({ install }));
  };
  const here = memberships.filter(
    (one) =>
      one.trainerId === trainerId &&
      (led.has(one.id) || (one.tool === route?.tool && one.groupId === route.groupId && !isOfOthersAlone(one))),
  );
  const hasEnded = reasons.some((reason) => reason.hasEnded);
  if (here.length === 0) {
    return [fails('membership', 'No membership exists', 'Wait. A running "gangway start" acts on this within seconds')];
  }
  return here.map((one) => ({
    step: 'membership',
    ...explainMembership(one, {
      hasEnded,
      plan: plans.get(one.id),
      invitation: invitations.get(one.id),
      trouble: troubles.get(one.tool),
      required: required.get(one.id),
      hasOthers: recorded.some((reason) => reason.membershipId === one.id && !isReason(reason)),
    }),
  }));
}

function holds(step: Judged['step'], says: string): Judged {
  return { step, holds: true, says, action: '' };
}

function fails(step: Judged['step'], says: string, action: string): Judged {
  return { step, holds: false, says, action };
}

/** Evidence has ended the reason, so access ends. */
function ended(step: Judged['step'], says: string, action: string): Judged {
  return { step, holds: false, says, action, hasEnded: true };
}

function isOf(key: object): (row: object) => boolean {
  return (row) => Object.entries(key).every(([name, value]) => Reflect.get(row, name) === value);
}

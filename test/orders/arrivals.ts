import { AppError } from '../../src/domain/errors.ts';
import type { SourceReader } from '../../src/marketplace/source.ts';
import { fullEvent, minimalEvent } from '../support/event-bodies.ts';

/**
 * What may arrive at a bridge, and what a person would conclude from it. Nothing here knows the rules: an arrival only
 * says whom it shows where, and whose access it ends or casts doubt on.
 */

export type InstallName = 'acme' | 'globex' | 'initech';

/** The project of each link, which never changes. People of all customers are in `signs`. */
const links = {
  l1: { project: 'signs', jobId: 'j1' },
  l2: { project: 'signs', jobId: 'j2' },
  l3: { project: 'lamps', jobId: 'j2' },
  k1: { project: 'signs', jobId: 'j1' },
  m1: { project: 'signs', jobId: 'j1' },
};
type LinkId = keyof typeof links;

export interface Access {
  install: InstallName;
  contract: string;
  link: LinkId;
  trainer: string;
}

/** A claim against all accesses that match it, as of the instant of the arrival. */
export interface Word {
  like: Partial<Access>;
  /** The grace period before anybody may be removed; zero after an explicit end. */
  graceMin: number;
}

export interface Arrival {
  install: InstallName;
  /** When it happened, or when the reading began. */
  atMin: number;
  came:
    | { by: 'event'; body: string; receivedMin: number; isUndated?: boolean }
    | { by: 'reading'; source: SourceReader };
  /** The accesses that it shows. */
  shows: readonly Access[];
  /** Contracts that a list correctly shows as active. */
  lists?: readonly string[];
  against: readonly Word[];
}

/** The documented grace periods. */
const weakMin = 15;
const revokedMin = 24 * 60;

const beganMs = Date.parse('2026-03-15T12:00:00.000Z');

export function toInstant(min: number): string {
  return new Date(beganMs + min * 60_000).toISOString();
}

export function seatOf({ link, trainer }: Access): string {
  return `${links[link].project}/${trainer}`;
}

/** Deviations from a normal event. */
interface EventOddity {
  /** Null if it is not shared. */
  workEmail?: string | null;
  receivedMin?: number;
  /** Whether its instant is not credible, so that the time of receipt counts. */
  undatedBody?: string;
}

export function started(access: Access, atMin: number, oddity: EventOddity = {}): Arrival {
  const { install } = access;
  return { install, atMin, came: toEvent('contract.started', access, atMin, oddity), shows: [access], against: [] };
}

/** Ends the contract for everyone on it, whatever link they came through. */
export function ended(access: Access, atMin: number, oddity: EventOddity = {}): Arrival {
  const { install, contract } = access;
  const against = [{ like: { install, contract }, graceMin: 0 }];
  return { install, atMin, came: toEvent('contract.ended', access, atMin, oddity), shows: [], against };
}

/** Has only what the marketplace guarantees, so it names no link and no trainer. */
export function endedBriefly(access: Access, atMin: number): Arrival {
  return ended(access, atMin, { undatedBody: minimalEvent('contract.ended', access.contract) });
}

export function startedBriefly(access: Access, atMin: number): Arrival {
  const undatedBody = minimalEvent('contract.started', access.contract);
  return { ...started(access, atMin, { undatedBody }), shows: [] };
}

export function linked(install: InstallName, link: LinkId, atMin: number): Arrival {
  const access = { install, link, contract: '', trainer: '' };
  return { install, atMin, came: toEvent('project_link.created', access, atMin), shows: [], against: [] };
}

export function unlinked(install: InstallName, link: LinkId, atMin: number): Arrival {
  const access = { install, link, contract: '', trainer: '' };
  const against = [{ like: { install, link }, graceMin: weakMin }];
  return { install, atMin, came: toEvent('project_link.removed', access, atMin), shows: [], against };
}

export function revoked(install: InstallName, grant: string, atMin: number): Arrival {
  const body = JSON.stringify({ type: 'install.revoked', createdAt: toInstant(atMin), resourceId: grant });
  const against = [{ like: { install }, graceMin: revokedMin }];
  return { install, atMin, came: { by: 'event', body, receivedMin: atMin }, shows: [], against };
}

/** The same event or the same answers once more, later. */
export function again(arrival: Arrival): Arrival {
  const { came, atMin } = arrival;
  if (came.by === 'reading') return { ...arrival };
  const receivedMin = came.receivedMin + 3;
  return { ...arrival, atMin: came.isUndated === true ? receivedMin : atMin, came: { ...came, receivedMin } };
}

function toEvent(
  type: string,
  { contract, link, trainer }: Access,
  atMin: number,
  { workEmail, receivedMin = atMin, undatedBody }: EventOddity = {},
): Arrival['came'] {
  const { project, jobId: job } = links[link];
  const address = workEmail === undefined ? {} : { workEmail };
  // The sender numbers its events.
  const wish = { type, contract, trainer, link, project, job, createdAt: toInstant(atMin), id: String(10_000 + atMin) };
  const body = undatedBody ?? fullEvent({ ...wish, ...address });
  return { by: 'event', body, receivedMin, isUndated: undatedBody !== undefined };
}

interface ListedContract {
  id: string;
  on: LinkId[];
  /** The people on it, if they are asked for; without this field the answer is 404. */
  who?: string[];
  /** Whether it is listed although it is not active, or no longer. */
  isUntrue?: true;
}

/** An active contract. @param others who are on it beside the trainer */
export function listed({ contract, link, trainer }: Access, ...others: string[]): ListedContract {
  return { id: contract, on: [link], who: [trainer, ...others] };
}

/** A contract whose people nobody asks for. */
export function unasked({ contract, link }: Access): ListedContract {
  return { id: contract, on: [link] };
}

/** A contract that is listed although it is not active, or no longer. */
export function untrue(access: Access): ListedContract {
  return { ...listed(access), isUntrue: true };
}

interface Listing {
  grant?: string;
  links: LinkId[];
  active?: ListedContract[];
  ended?: ListedContract[];
  /** Whether more contracts may be active than are listed. */
  isCutOff?: boolean;
  /** Whether the customer shares no addresses, not yet or no longer. */
  isUnshared?: boolean;
  /** The accesses that it rightly casts doubt on. */
  doubts?: Partial<Access>[];
}

export function reading(install: InstallName, atMin: number, listing: Listing): Arrival {
  const { active = [], ended: over = [], doubts = [] } = listing;
  const rightly = active.filter(({ isUntrue }) => isUntrue !== true);
  const shows = rightly.flatMap(({ id, on, who = [] }) =>
    on.flatMap((link) => who.map((trainer): Access => ({ install, contract: id, link, trainer }))),
  );
  const against = [
    ...over.map(({ id }) => ({ like: { install, contract: id }, graceMin: 0 })),
    ...doubts.map((like) => ({ like: { install, ...like }, graceMin: weakMin })),
  ];
  const lists = rightly.map(({ id }) => id);
  return { install, atMin, came: { by: 'reading', source: toSource(install, listing) }, shows, lists, against };
}

/** The token is refused. */
export function refusedReading(install: InstallName, atMin: number): Arrival {
  const source = new Proxy({} as SourceReader, {
    get: () => async () => {
      throw new AppError('unauthenticated', 'the token is refused');
    },
  });
  return { install, atMin, came: { by: 'reading', source }, shows: [], against: [] };
}

function toSource(install: InstallName, listing: Listing): SourceReader {
  const { grant = `${install}-g1`, active = [], ended: over = [], isCutOff = false, isUnshared = false } = listing;
  const listed = listing.links.map((id) => ({
    id,
    externalProjectId: links[id].project,
    externalProjectName: null,
    provisioningMode: 'PARTNER_WEBHOOK',
    jobId: links[id].jobId,
  }));
  const unknown = () => new AppError('not_found', 'there is none');
  return {
    readGrant: async () => ({ id: grant, status: 'ACTIVE' }),
    listLinks: async () => [...listed],
    readLink: async () => {
      throw unknown();
    },
    listContracts: async ({ status }) => ({
      contracts: (status === 'active' ? active : over).map(({ id, on }) => {
        const [first] = on;
        return { id, status, title: null, projectLinkIds: on, jobId: first === undefined ? null : links[first].jobId };
      }),
      isComplete: status === 'ended' || !isCutOff,
    }),
    listParticipants: async (contractId) => {
      const who = [...active, ...over].find(({ id }) => id === contractId)?.who;
      if (who === undefined) throw unknown();
      return who.map((trainer) => ({
        opentrainUserId: trainer,
        displayName: trainer,
        workEmail: isUnshared ? null : `${trainer}@opentrain.work`,
      }));
    },
  };
}

import { AppError, toAppError } from '../domain/errors.ts';
import { isEventType } from '../domain/event.ts';
import { endpointUrlOf, isAt } from '../installs/subscription/endpoint-url.ts';
import { mapAtOnce } from '../lib/at-once.ts';
import { type Clock, systemClock } from '../lib/clock.ts';
import { isPlainBeyondLoopback } from '../lib/loopback.ts';
import { maskText } from '../lib/mask.ts';
import type { Endpoint } from '../sources/endpoint.ts';
import { type ContractPage, type Deviation, type Grant, notableDriftMs, type Source } from '../sources/source.ts';
import type { TokenRecord } from '../sources/token-record.ts';
import { type Check, failure, ok, warning } from './doctor-checks.ts';
import {
  checkExpiry,
  checkGrant,
  checkJobs,
  checkSurplus,
  checkUnanswered,
  checkUnread,
  nameOf,
} from './install-checks.ts';
import { mayCall } from './needed-scopes.ts';

export interface ExaminedMarketplace {
  /** By install. */
  sources: ReadonlyMap<string, ReadingSource>;
  /** The address to which the marketplace delivers; undefined if it does not deliver. */
  publicUrl: string | undefined;
  /** When installs are read: cron, UTC. */
  schedule: string;
  /** How long all questions about one install may take. */
  timeoutMs?: number;
  clock?: Clock;
}

/** Operations that change nothing at the marketplace. */
type ReadingSource = Pick<
  Source,
  | 'readGrant'
  | 'listLinks'
  | 'listContracts'
  | 'listEndpoints'
  | 'listTokens'
  | 'findDeviations'
  | 'clockDriftMs'
  | 'listEventTypes'
  | 'neededScopes'
  | 'optionalScopes'
  | 'remedies'
>;

const usualTimeoutMs = 20_000;
const concurrency = 8;

/** Asks the marketplace about every install, and about itself. Changes nothing, never throws. */
export async function examineMarketplace(subject: ExaminedMarketplace, stopping: AbortSignal): Promise<Check[]> {
  const { sources, publicUrl, schedule } = subject;
  if (sources.size === 0) return [];
  const examined = await mapAtOnce([...sources], concurrency, ([install, source]) =>
    examineInstall(subject, install, source, stopping),
  );
  const described = await mapAtOnce(oneOfEachApi([...sources.values()]), concurrency, (source) =>
    examineContract(subject, source, stopping),
  );
  const drifts = [...sources.values()].flatMap((source) => source.clockDriftMs() ?? []);
  return [
    ...examined.flat(),
    ...(publicUrl === undefined ? [sayPolled(schedule)] : []),
    ...checkDrift(drifts),
    ...described.flat(),
  ];
}

/** Sources of one API need the same scopes. */
function oneOfEachApi(sources: readonly ReadingSource[]): ReadingSource[] {
  return [...new Map(sources.map((source) => [source.neededScopes, source])).values()];
}

function sayPolled(schedule: string): Check {
  const says = `without receiver.publicUrl nothing is delivered: installs are read on the schedule, "${schedule}"`;
  return ok('webhooks', says);
}

async function examineInstall(
  { publicUrl, timeoutMs = usualTimeoutMs, clock = systemClock }: ExaminedMarketplace,
  install: string,
  source: ReadingSource,
  stopping: AbortSignal,
): Promise<Check[]> {
  const ask = createAsk(timeoutMs, stopping);
  const unanswered = (error: AppError) => [checkUnanswered(install, source, error)];
  let scopes: readonly string[] = [];
  let known: Grant | undefined;
  const judgeGrant = (grant: Grant) => {
    known = grant;
    if (grant.status === 'ACTIVE') scopes = grant.token?.scopes ?? grant.scopes ?? [];
    return checkGrant(install, source, grant);
  };
  const troubles = await ask(source.readGrant, judgeGrant, unanswered);
  if (mayCall(source, scopes, 'listLinks')) {
    const judge = checkJobs.bind(undefined, install);
    troubles.push(...(await ask(source.listLinks, judge, unanswered)));
  }
  if (mayCall(source, scopes, 'listContracts')) {
    const read = (signal: AbortSignal) => source.listContracts({ status: 'active', wantsMore: () => false }, signal);
    const judge = ({ unreadLinks = [] }: ContractPage) => checkUnread(install, unreadLinks);
    troubles.push(...(await ask(read, judge, unanswered)));
  }
  if (publicUrl !== undefined && mayCall(source, scopes, 'listEndpoints')) {
    const url = endpointUrlOf(publicUrl, install);
    const read = async (signal: AbortSignal) =>
      checkEndpoints(install, await source.listEventTypes(signal), await source.listEndpoints(signal), url);
    troubles.push(...(await ask(read, (checks) => checks, unanswered)));
  }
  const { listTokens } = source;
  const judgeTokens = (tokens: readonly TokenRecord[]) =>
    known === undefined ? [] : checkExpiry(install, known, tokens, clock.now());
  const ofTokens = known && listTokens ? await ask(listTokens, judgeTokens, unanswered) : [];
  const surplus = known === undefined ? [] : checkSurplus(install, source, known);
  return [...(troubles.length > 0 ? troubles : [sayWell(install, publicUrl)]), ...surplus, ...ofTokens];
}

function sayWell(install: string, publicUrl: string | undefined): Check {
  const delivered = publicUrl === undefined ? '' : ', and its webhook endpoint receives every event';
  const says = `its token is good and has every scope, work addresses are shared${delivered}`;
  return ok(nameOf(install), says);
}

async function examineContract(
  { timeoutMs = usualTimeoutMs }: ExaminedMarketplace,
  source: ReadingSource,
  stopping: AbortSignal,
): Promise<Check[]> {
  return await createAsk(timeoutMs, stopping)(source.findDeviations, checkContract, ({ message }) => [
    warning('contract', maskText(message), 'nothing, as long as installs can be read: it is only compared'),
  ]);
}

/** Asks questions that together take no longer than `timeoutMs`. */
function createAsk(timeoutMs: number, stopping: AbortSignal) {
  const deadline = AbortSignal.timeout(timeoutMs);
  const signal = AbortSignal.any([stopping, deadline]);
  return async <T>(
    read: (signal: AbortSignal) => Promise<T>,
    judge: (answer: T) => Check[],
    unanswered: (error: AppError) => Check[],
  ): Promise<Check[]> => {
    try {
      return judge(await read(signal));
    } catch (error) {
      if (!deadline.aborted) return unanswered(toAppError(error));
      const says = `The marketplace did not answer within ${timeoutMs} ms`;
      return unanswered(new AppError('unavailable', says, { cause: error }));
    }
  };
}

/** Checks of the marketplace as a whole, not of one install. */

/** Deliveries are refused from 300 s on, and a delivery takes time to arrive. */
const fatalDriftMs = 240_000;

/** @param driftsMs measured against the answers; positive if this clock is ahead */
export function checkDrift(driftsMs: readonly number[]): Check[] {
  const [most] = driftsMs.toSorted((a, b) => Math.abs(b) - Math.abs(a));
  if (most === undefined) return [];
  const seconds = Math.round(Math.abs(most) / 1000);
  const says = `this machine's clock is ${seconds} s ${most < 0 ? 'behind' : 'ahead of'} that of the marketplace`;
  const name = 'marketplace clock';
  const action = 'let this machine keep time by NTP: deliveries are refused over 300 s';
  if (Math.abs(most) >= fatalDriftMs) return [failure(name, says, action)];
  if (Math.abs(most) >= notableDriftMs) return [warning(name, says, action)];
  return [ok(name, says)];
}

/** So many are named one by one. */
const maxNamed = 10;

export function checkContract(deviations: readonly Deviation[]): Check[] {
  const name = 'contract';
  const action = 'look for a newer version of Gangway, and tell its makers';
  const broken = deviations.filter(({ isFailure }) => isFailure);
  const others = deviations.filter(({ isFailure }) => !isFailure);
  if (deviations.length === 0) return [ok(name, 'the marketplace offers all that is relied on')];
  const failures = broken.slice(0, maxNamed).map(({ where, says }) => failure(name, `${where}: ${says}`, action));
  const left = broken.length - failures.length;
  const more = left > 0 ? [failure(name, `and ${left} more like that`, action)] : [];
  return [...failures, ...more, ...sumUp(name, others)];
}

/** Few of these deviations matter, so only the first is shown. */
function sumUp(name: string, [first, ...others]: Deviation[]): Check[] {
  if (first === undefined) return [];
  const more = others.length === 0 ? '' : `; and ${others.length} more like that`;
  const says = `what the marketplace says of itself differs, or is not enough to compare: ${first.where}: ${first.says}${more}`;
  return [warning(name, says, 'nothing, as long as installs can be read')];
}

/** After so many failures the marketplace disables an endpoint. */
const fatalFailures = 10;

/** Whether events are delivered; only problems are listed. @param url as `endpointUrlOf` @param eventTypes those to be delivered */
export function checkEndpoints(
  install: string,
  eventTypes: readonly string[],
  endpoints: readonly Endpoint[],
  url: string,
): Check[] {
  const name = nameOf(install);
  if (isPlainBeyondLoopback(url)) {
    const says = `the marketplace delivers to https only, and not to ${url}`;
    return [failure(name, says, 'put a proxy with TLS in front, and its address at receiver.publicUrl')];
  }
  const ours = endpoints.filter((endpoint) => isAt(url, endpoint.url));
  const enabled = ours.filter(({ status }) => status === 'ACTIVE');
  if (ours.length === 0) return [missing(install, endpoints.length, url)];
  if (enabled.length === 0) return ours.map((endpoint) => disabled(install, endpoint));
  return [
    ...findUnsubscribed(name, eventTypes, enabled),
    ...enabled.flatMap((endpoint) => findFailing(name, endpoint)),
  ];
}

function missing(install: string, others: number, url: string): Check {
  const besides = others === 0 ? '' : `, only ${others} elsewhere`;
  return failure(
    nameOf(install),
    `it has no webhook endpoint at ${url}${besides}: nothing is delivered, and it is only read on the schedule`,
    `gangway connect ${install}`,
  );
}

function disabled(install: string, { id, status, disabledReason }: Endpoint): Check {
  const why = disabledReason === null ? '' : ` (${disabledReason})`;
  return failure(
    nameOf(install),
    `its webhook endpoint ${id} is ${status}${why}: nothing is delivered, and what happens meanwhile is not delivered later`,
    `a running "gangway start" enables it up to three times a day; see: gangway endpoint status ${install}`,
  );
}

/** Event types that mean something and that none of the endpoints receives. */
function findUnsubscribed(name: string, eventTypes: readonly string[], enabled: Endpoint[]): Check[] {
  if (enabled.some((endpoint) => endpoint.eventTypes === undefined)) return [];
  const received = new Set(enabled.flatMap((endpoint) => endpoint.eventTypes ?? []));
  const missing = eventTypes.filter((type) => isEventType(type) && !received.has(type));
  if (missing.length === 0) return [];
  const says = `its webhook endpoint does not receive ${missing.join(', ')}: such events are only noticed when the install is read`;
  return [warning(name, says, 'a running "gangway start" adds them; see: gangway endpoint status')];
}

function findFailing(name: string, { id, consecutiveFailures }: Endpoint): Check[] {
  if (consecutiveFailures === null || consecutiveFailures === 0) return [];
  return [
    warning(
      name,
      `deliveries to its webhook endpoint ${id} fail, ${consecutiveFailures} in a row: after ${fatalFailures} the marketplace disables it`,
      'look for refusals in the log: a secret that is not the one of this endpoint, a proxy that changes bodies, or a clock that is wrong',
    ),
  ];
}

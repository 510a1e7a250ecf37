import { AppError, toAppError } from '../../domain/errors.ts';
import { isEventType } from '../../domain/event.ts';
import { endpointUrlOf, isAt } from '../../installs/subscription/endpoint-url.ts';
import { mapAtOnce } from '../../lib/at-once.ts';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { isPlainBeyondLoopback } from '../../lib/loopback.ts';
import { maskText } from '../../lib/mask.ts';
import type { Endpoint } from '../../sources/endpoint.ts';
import { type ContractPage, type Deviation, type Grant, notableDriftMs, type Source } from '../../sources/source.ts';
import type { TokenRecord } from '../../sources/token-record.ts';
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
  const says = `No webhooks without receiver.publicUrl; installs are read on the schedule "${schedule}"`;
  return ok('webhooks', says);
}

async function examineInstall(
  { publicUrl, timeoutMs = usualTimeoutMs, clock = systemClock }: ExaminedMarketplace,
  install: string,
  source: ReadingSource,
  stopping: AbortSignal,
): Promise<Check[]> {
  const ask = createAsk(timeoutMs, stopping);
  const unanswered = (name: string) => (error: AppError) => [checkUnanswered(install, source, error, name)];
  let scopes: readonly string[] = [];
  let known: Grant | undefined;
  const judgeGrant = (grant: Grant) => {
    known = grant;
    if (grant.status === 'ACTIVE') scopes = grant.token?.scopes ?? grant.scopes ?? [];
    return checkGrant(install, source, grant);
  };
  const troubles = await ask(source.readGrant, judgeGrant, unanswered(nameOf(install)));
  if (mayCall(source, scopes, 'listLinks')) {
    const judge = checkJobs.bind(undefined, install);
    troubles.push(...(await ask(source.listLinks, judge, unanswered(`links of ${install}`))));
  }
  if (mayCall(source, scopes, 'listContracts')) {
    const read = (signal: AbortSignal) => source.listContracts({ status: 'active', wantsMore: () => false }, signal);
    const judge = ({ unreadLinks = [] }: ContractPage) => checkUnread(install, unreadLinks);
    troubles.push(...(await ask(read, judge, unanswered(`contracts of ${install}`))));
  }
  if (publicUrl !== undefined && mayCall(source, scopes, 'listEndpoints')) {
    const url = endpointUrlOf(publicUrl, install);
    const read = async (signal: AbortSignal) =>
      checkEndpoints(install, await source.listEventTypes(signal), await source.listEndpoints(signal), url);
    troubles.push(...(await ask(read, (checks) => checks, unanswered(`webhooks of ${install}`))));
  }
  const { listTokens } = source;
  const judgeTokens = (tokens: readonly TokenRecord[]) =>
    known === undefined ? [] : checkExpiry(install, known, tokens, clock.now());
  const ofTokens = known && listTokens ? await ask(listTokens, judgeTokens, unanswered(`token of ${install}`)) : [];
  const surplus = known === undefined ? [] : checkSurplus(install, source, known);
  return [...(troubles.length > 0 ? troubles : [sayWell(install, publicUrl)]), ...surplus, ...ofTokens];
}

function sayWell(install: string, publicUrl: string | undefined): Check {
  const delivered = publicUrl === undefined ? '' : ', webhook endpoint receives every event';
  const says = `Token valid, all scopes granted, work emails shared${delivered}`;
  return ok(nameOf(install), says);
}

async function examineContract(
  { timeoutMs = usualTimeoutMs }: ExaminedMarketplace,
  source: ReadingSource,
  stopping: AbortSignal,
): Promise<Check[]> {
  return await createAsk(timeoutMs, stopping)(source.findDeviations, checkContract, ({ message }) => [
    warning(apiName, maskText(message), 'Ignore it while installs can be read: it is only compared'),
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
  const says = `This machine's clock is ${seconds} s ${most < 0 ? 'behind' : 'ahead of'} that of the marketplace`;
  const name = 'marketplace clock';
  const action = 'Keep the clock of this machine right by NTP. Webhooks are refused beyond 300 s';
  if (Math.abs(most) >= fatalDriftMs) return [failure(name, says, action)];
  if (Math.abs(most) >= notableDriftMs) return [warning(name, says, action)];
  return [ok(name, says)];
}

const apiName = 'marketplace API';

/** So many are named one by one. */
const maxNamed = 10;

export function checkContract(deviations: readonly Deviation[]): Check[] {
  const action = 'Update Gangway, or report this to its maintainers';
  const broken = deviations.filter(({ isFailure }) => isFailure);
  const others = deviations.filter(({ isFailure }) => !isFailure);
  if (deviations.length === 0) return [ok(apiName, 'The marketplace has every endpoint Gangway uses')];
  const failures = broken
    .slice(0, maxNamed)
    .map(({ where, says }) => failure(`${apiName}, ${where}`, `${where}: ${says}`, action));
  const left = broken.length - failures.length;
  const more = left > 0 ? [failure(`${apiName}, others`, `${left} more differences like these`, action)] : [];
  return [...failures, ...more, ...sumUp(others)];
}

/** Few of these deviations matter, so only the first is shown. */
function sumUp([first, ...others]: Deviation[]): Check[] {
  if (first === undefined) return [];
  const more = others.length === 0 ? '' : `; and ${others.length} more like it`;
  const says = `The marketplace's description of its API differs, or is not enough to compare: ${first.where}: ${first.says}${more}`;
  return [warning(`${apiName} description`, says, 'Ignore it while installs can be read')];
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
  if (isPlainBeyondLoopback(url)) {
    const says = `The marketplace delivers to https only, and not to ${url}`;
    return [
      failure(`webhooks of ${install}`, says, 'Put a proxy with TLS in front, and its address into receiver.publicUrl'),
    ];
  }
  const ours = endpoints.filter((endpoint) => isAt(url, endpoint.url));
  const enabled = ours.filter(({ status }) => status === 'ACTIVE');
  if (ours.length === 0) return [missing(install, endpoints.length, url)];
  if (enabled.length === 0) return ours.map((endpoint) => disabled(install, endpoint));
  return [
    ...findUnsubscribed(install, eventTypes, enabled),
    ...enabled.flatMap((endpoint) => findFailing(install, endpoint)),
  ];
}

function missing(install: string, others: number, url: string): Check {
  const besides = others === 0 ? '' : `, only ${others} elsewhere`;
  return failure(
    `webhooks of ${install}`,
    `No webhook endpoint at ${url}${besides}, so the install is only read on the schedule`,
    `Run gangway connect ${install}`,
  );
}

function disabled(install: string, { id, status, disabledReason }: Endpoint): Check {
  const why = disabledReason === null ? '' : ` (${disabledReason})`;
  return failure(
    `webhook endpoint ${id} of ${install}`,
    `The webhook endpoint is ${status}${why}, so events are not delivered, and not later either`,
    `Run gangway endpoint status ${install}. A running "gangway start" enables it up to three times a day`,
  );
}

/** Event types that mean something and that none of the endpoints receives. */
function findUnsubscribed(install: string, eventTypes: readonly string[], enabled: Endpoint[]): Check[] {
  if (enabled.some((endpoint) => endpoint.eventTypes === undefined)) return [];
  const received = new Set(enabled.flatMap((endpoint) => endpoint.eventTypes ?? []));
  const missing = eventTypes.filter((type) => isEventType(type) && !received.has(type));
  if (missing.length === 0) return [];
  const says = `The webhook endpoint does not receive ${missing.join(', ')}, so Gangway notices these events only when it reads the install`;
  return [
    warning(
      `webhook events of ${install}`,
      says,
      `Run gangway endpoint status ${install}. A running "gangway start" adds them`,
    ),
  ];
}

function findFailing(install: string, { id, consecutiveFailures }: Endpoint): Check[] {
  if (consecutiveFailures === null || consecutiveFailures === 0) return [];
  return [
    warning(
      `webhook endpoint ${id} of ${install}`,
      `${consecutiveFailures} deliveries in a row failed; after ${fatalFailures} the marketplace disables the endpoint`,
      "Look for refusals in the log: another endpoint's secret, a proxy that changes bodies, or a wrong clock",
    ),
  ];
}

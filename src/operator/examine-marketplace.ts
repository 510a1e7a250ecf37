import { AppError, toAppError } from '../domain/errors.ts';
import { endpointUrlOf } from '../installs/subscription/endpoint-url.ts';
import { mapAtOnce } from '../lib/at-once.ts';
import { type Clock, systemClock } from '../lib/clock.ts';
import { maskText } from '../lib/mask.ts';
import type { ContractPage, Grant, Source } from '../sources/source.ts';
import type { TokenRecord } from '../sources/token-record.ts';
import { type Check, ok, warning } from './doctor-checks.ts';
import { checkEndpoints } from './endpoint-checks.ts';
import {
  checkExpiry,
  checkGrant,
  checkJobs,
  checkSurplus,
  checkUnanswered,
  checkUnread,
  nameOf,
} from './install-checks.ts';
import { checkContract, checkDrift } from './marketplace-checks.ts';
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

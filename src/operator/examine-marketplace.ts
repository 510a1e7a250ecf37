import { AppError, toAppError } from '../domain/errors.ts';
import { endpointUrlOf } from '../installs/subscription/endpoint-url.ts';
import { mapAtOnce } from '../lib/at-once.ts';
import { maskText } from '../lib/mask.ts';
import { findDeviations } from '../marketplace/contract-canary.ts';
import type { PlatformApi } from '../marketplace/platform-api.ts';
import type { Grant } from '../marketplace/platform-schema.ts';
import { type Check, ok, warning } from './doctor-checks.ts';
import { checkEndpoints } from './endpoint-checks.ts';
import { checkGrant, checkJobs, checkUnanswered, nameOf } from './install-checks.ts';
import { checkContract, checkDrift } from './marketplace-checks.ts';
import { hasScope } from './needed-scopes.ts';

export interface ExaminedMarketplace {
  /** By install. */
  platformApis: ReadonlyMap<string, ReadingApi>;
  /** The address to which the marketplace delivers; undefined if it does not deliver. */
  publicUrl: string | undefined;
  /** When installs are read: cron, UTC. */
  schedule: string;
  /** How long all questions about one install may take. */
  timeoutMs?: number;
}

/** Operations that change nothing at the marketplace. */
type ReadingApi = Pick<
  PlatformApi,
  'getInstall' | 'listProjectLinks' | 'listWebhookEndpoints' | 'readOpenapi' | 'clockDriftMs'
>;

const usualTimeoutMs = 20_000;
const concurrency = 8;

/** Asks the marketplace about every install, and about itself. Changes nothing, never throws. */
export async function examineMarketplace(subject: ExaminedMarketplace, stopping: AbortSignal): Promise<Check[]> {
  const { platformApis, publicUrl, schedule } = subject;
  const [first] = platformApis.values();
  if (first === undefined) return [];
  const examined = await mapAtOnce([...platformApis], concurrency, ([install, api]) =>
    examineInstall(subject, install, api, stopping),
  );
  const contract = await examineContract(subject, first, stopping);
  const drifts = [...platformApis.values()].flatMap((api) => api.clockDriftMs() ?? []);
  return [
    ...examined.flat(),
    ...(publicUrl === undefined ? [sayPolled(schedule)] : []),
    ...checkDrift(drifts),
    ...contract,
  ];
}

function sayPolled(schedule: string): Check {
  const says = `without receiver.publicUrl nothing is delivered: installs are read on the schedule, "${schedule}"`;
  return ok('webhooks', says);
}

async function examineInstall(
  { publicUrl, timeoutMs = usualTimeoutMs }: ExaminedMarketplace,
  install: string,
  api: ReadingApi,
  stopping: AbortSignal,
): Promise<Check[]> {
  const ask = createAsk(timeoutMs, stopping);
  const unanswered = (error: AppError) => [checkUnanswered(install, error)];
  let scopes: readonly string[] = [];
  const judgeGrant = (grant: Grant) => {
    if (grant.status === 'ACTIVE') scopes = grant.token?.scopes ?? grant.scopes ?? [];
    return checkGrant(install, grant);
  };
  const troubles = await ask(api.getInstall, judgeGrant, unanswered);
  if (hasScope(scopes, 'project-links:read')) {
    const judge = checkJobs.bind(undefined, install);
    troubles.push(...(await ask(api.listProjectLinks, judge, unanswered)));
  }
  if (publicUrl !== undefined && hasScope(scopes, 'webhooks:manage')) {
    const url = endpointUrlOf(publicUrl, install);
    const judge = (endpoints: Parameters<typeof checkEndpoints>[1]) => checkEndpoints(install, endpoints, url);
    troubles.push(...(await ask(api.listWebhookEndpoints, judge, unanswered)));
  }
  return troubles.length > 0 ? troubles : [sayWell(install, publicUrl)];
}

function sayWell(install: string, publicUrl: string | undefined): Check {
  const delivered = publicUrl === undefined ? '' : ', and its webhook endpoint receives every event';
  const says = `its token is good and has every scope, work addresses are shared${delivered}`;
  return ok(nameOf(install), says);
}

async function examineContract(
  { timeoutMs = usualTimeoutMs }: ExaminedMarketplace,
  api: ReadingApi,
  stopping: AbortSignal,
): Promise<Check[]> {
  return await createAsk(timeoutMs, stopping)(
    api.readOpenapi,
    (document) => checkContract(findDeviations(document)),
    ({ message }) => [
      warning('contract', maskText(message), 'nothing, as long as installs can be read: it is only compared'),
    ],
  );
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

import type { Config } from '../config/config-schema.ts';
import { AppError, toAppError } from '../domain/errors.ts';
import { isEventType } from '../domain/event.ts';
import { mapAtOnce } from '../lib/lists.ts';
import { maskText } from '../lib/mask.ts';
import { isPlainBeyondLoopback } from '../lib/url.ts';
import { type Deviation, type Grant, notableDriftMs, type Source } from '../marketplace/source.ts';
import type { Endpoint } from '../marketplace/source-records.ts';
import { endpointUrlOf, isAt } from '../subscription/decide-subscription.ts';
import { type Check, failure, ok, warning } from './check.ts';
import {
  checkContracts,
  checkExpiry,
  checkGrant,
  checkJobs,
  checkSurplus,
  checkUnanswered,
  mayCall,
  nameOf,
} from './check-install.ts';

type Receiving = Pick<Config, 'reconcile'> & { receiver: Pick<Config['receiver'], 'publicUrl'> };

/** The time-out of all questions about one install together. */
const usualTimeoutMs = 20_000;
const concurrency = 8;

/** Asks the marketplace about every install, and about its API. Changes nothing, never throws. */
export async function examineMarketplace(
  sources: ReadonlyMap<string, Source>,
  { receiver: { publicUrl }, reconcile: { schedule } }: Receiving,
  stopping: AbortSignal,
  timeoutMs = usualTimeoutMs,
): Promise<Check[]> {
  if (sources.size === 0) return [];
  const examined = await mapAtOnce([...sources], concurrency, ([install, source]) =>
    examineInstall(install, source, publicUrl, createAsk(timeoutMs, stopping)),
  );
  // Sources with the same scopes share an API.
  const ofEachApi = new Map([...sources.values()].map((source) => [source.neededScopes, source]));
  const described = await mapAtOnce([...ofEachApi.values()], concurrency, (source) =>
    createAsk(timeoutMs, stopping)(
      async (signal) => checkContract(await source.findDeviations(signal)),
      ({ message }) => warning(apiName, maskText(message), 'Ignore it while installs can be read: it is only compared'),
    ),
  );
  const polled = `No webhooks without receiver.publicUrl; installs are read on the schedule "${schedule}"`;
  return [
    ...examined.flat(),
    ...(publicUrl === undefined ? [ok('webhooks', polled)] : []),
    ...checkDrift([...sources.values()].flatMap((source) => source.clockDriftMs() ?? [])),
    ...described.flat(),
  ];
}

async function examineInstall(
  install: string,
  source: Source,
  publicUrl: string | undefined,
  askAny: ReturnType<typeof createAsk>,
): Promise<Check[]> {
  const ask = (name: string, question: (signal: AbortSignal) => Promise<Check[]>) =>
    askAny(question, (error) => checkUnanswered(install, source, error, name));
  let grant = undefined as Grant | undefined;
  const troubles = await ask(nameOf(install), async (signal) => {
    grant = await source.readGrant(signal);
    return checkGrant(install, source, grant);
  });
  const scopes = grant?.status === 'ACTIVE' ? (grant.token?.scopes ?? grant.scopes ?? []) : [];
  const questions: Partial<Record<keyof Source, [what: string, (signal: AbortSignal) => Promise<Check[]>]>> = {
    listLinks: ['links', async (signal) => checkJobs(install, await source.listLinks(signal))],
    listContracts: ['contracts', (signal) => checkContracts(install, source, signal)],
    ...(publicUrl !== undefined && {
      listEndpoints: [
        'webhooks',
        async (signal) => {
          const types = await source.listEventTypes(signal);
          return checkEndpoints(install, types, await source.listEndpoints(signal), endpointUrlOf(publicUrl, install));
        },
      ],
    }),
  };
  for (const [operation, [what, question]] of Object.entries(questions)) {
    if (!mayCall(source, scopes, operation as keyof Source)) continue;
    troubles.push(...(await ask(`${what} of ${install}`, question)));
  }
  const delivered = publicUrl === undefined ? '' : ', webhook endpoint receives every event';
  const well = ok(nameOf(install), `Token valid, all scopes granted, work emails shared${delivered}`);
  const found = troubles.length > 0 ? troubles : [well];
  if (grant === undefined) return found;
  const [known, { listTokens }] = [grant, source];
  const ofToken =
    listTokens &&
    (await ask(`token of ${install}`, async (signal) =>
      checkExpiry(install, known, await listTokens(signal), new Date()),
    ));
  return [...found, ...checkSurplus(install, source, known), ...(ofToken ?? [])];
}

/** All questions together take no longer than `timeoutMs`. */
function createAsk(timeoutMs: number, stopping: AbortSignal) {
  const deadline = AbortSignal.timeout(timeoutMs);
  const signal = AbortSignal.any([stopping, deadline]);
  return async (
    question: (signal: AbortSignal) => Promise<Check[]>,
    unanswered: (error: AppError) => Check,
  ): Promise<Check[]> => {
    try {
      return await question(signal);
    } catch (error) {
      if (!deadline.aborted) return [unanswered(toAppError(error))];
      const says = `The marketplace did not answer within ${timeoutMs} ms`;
      return [unanswered(new AppError('unavailable', says, { cause: error }))];
    }
  };
}

/** Deliveries are refused beyond 300 s, and take time to arrive. */
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

/** How many differences are named one by one. */
const maxNamed = 10;

export function checkContract(deviations: readonly Deviation[]): Check[] {
  if (deviations.length === 0) return [ok(apiName, 'The marketplace has every endpoint Gangway uses')];
  const action = 'Update Gangway, or report this to its maintainers';
  const [broken, others] = [true, false].map((isFailure) => deviations.filter((one) => one.isFailure === isFailure));
  const { length: count = 0 } = broken ?? [];
  const checks = (broken ?? [])
    .slice(0, maxNamed)
    .map(({ where, says }) => failure(`${apiName}, ${where}`, `${where}: ${says}`, action));
  if (count > maxNamed) {
    checks.push(failure(`${apiName}, others`, `${count - maxNamed} more differences like these`, action));
  }
  // The others rarely matter, so only the first is shown.
  const [first, ...more] = others ?? [];
  if (first === undefined) return checks;
  const like = more.length === 0 ? '' : `; and ${more.length} more like it`;
  const says = `The marketplace's description of its API differs, or is not enough to compare: ${first.where}: ${first.says}${like}`;
  return [...checks, warning(`${apiName} description`, says, 'Ignore it while installs can be read')];
}

/** After this many failures the marketplace disables an endpoint. */
const fatalFailures = 10;

/** Whether events are delivered. Only problems are listed. @param url by `endpointUrlOf` @param eventTypes that should be delivered */
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
  if (ours.length === 0) {
    const besides = endpoints.length === 0 ? '' : `, only ${endpoints.length} elsewhere`;
    const says = `No webhook endpoint at ${url}${besides}, so the install is only read on the schedule`;
    return [failure(`webhooks of ${install}`, says, `Run gangway connect ${install}`)];
  }
  const run = `Run gangway endpoint status ${install}. A running "gangway start"`;
  const nameOfEndpoint = ({ id }: Endpoint) => `webhook endpoint ${id} of ${install}`;
  const enabled = ours.filter(({ status }) => status === 'ACTIVE');
  if (enabled.length === 0) {
    return ours.map((endpoint) => {
      const why = endpoint.disabledReason === null ? '' : ` (${endpoint.disabledReason})`;
      const says = `The webhook endpoint is ${endpoint.status}${why}, so events are not delivered, and not later either`;
      return failure(nameOfEndpoint(endpoint), says, `${run} enables it up to three times a day`);
    });
  }
  const unsubscribed = findUnsubscribed(eventTypes, enabled);
  const missed = `The webhook endpoint does not receive ${unsubscribed.join(', ')}, so Gangway notices these events only when it reads the install`;
  return [
    ...(unsubscribed.length === 0 ? [] : [warning(`webhook events of ${install}`, missed, `${run} adds them`)]),
    ...enabled
      .filter(({ consecutiveFailures }) => (consecutiveFailures ?? 0) > 0)
      .map((endpoint) =>
        warning(
          nameOfEndpoint(endpoint),
          `${endpoint.consecutiveFailures} deliveries in a row failed; after ${fatalFailures} the marketplace disables the endpoint`,
          "Look for refusals in the log: another endpoint's secret, a proxy that changes bodies, or a wrong clock",
        ),
      ),
  ];
}

/** Event types that Gangway uses and no endpoint receives. */
function findUnsubscribed(eventTypes: readonly string[], enabled: readonly Endpoint[]): string[] {
  if (enabled.some((endpoint) => endpoint.eventTypes === undefined)) return [];
  const received = new Set(enabled.flatMap((endpoint) => endpoint.eventTypes ?? []));
  return eventTypes.filter((type) => isEventType(type) && !received.has(type));
}

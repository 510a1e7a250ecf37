import { isEventType } from '../domain/event.ts';
import { isAt } from '../installs/subscription/endpoint-url.ts';
import { isPlainBeyondLoopback } from '../lib/loopback.ts';
import type { Endpoint } from '../sources/endpoint.ts';
import { type Check, failure, warning } from './doctor-checks.ts';
import { nameOf } from './install-checks.ts';

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

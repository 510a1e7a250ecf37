import { toAppError } from '../domain/errors.ts';
import {
  type DescribedSubscription,
  describeSubscription,
  type Redelivered,
  redeliver,
} from '../installs/subscription/describe-subscription.ts';
import type { RotatedEndpoint } from '../installs/subscription/rotate-endpoint.ts';
import { maskText } from '../lib/mask.ts';
import { stripControl } from '../lib/strip-control.ts';
import { formatTable } from '../operations/text-table.ts';
import { rotateSecret } from '../operator/rotate-secret.ts';
import type { Printed } from './define-command.ts';
import { pickInstall, pickInstalls } from './pick-install.ts';
import type { ServicesSession } from './session.ts';
import { decidedBy, noteAct } from './with-storage.ts';

/** `gangway endpoint`: the webhook endpoint at the marketplace, and whether it gets deliveries. */

interface NamedInstall {
  install: string | undefined;
}

export async function runEndpointStatus({ install: named }: NamedInstall, session: ServicesSession): Promise<Printed> {
  const endpoints: Described[] = [];
  for (const install of pickInstalls(session, session.services.installs, named)) {
    endpoints.push(await describe(install, session));
  }
  return printEndpoints(endpoints);
}

export function printEndpoints(endpoints: readonly Described[]): Printed {
  return {
    data: { endpoints },
    text: () => endpoints.map(toText).join('\n\n'),
    status: endpoints.some(({ failure }) => failure !== null) ? 1 : 0,
  };
}

export type Described = Partial<DescribedSubscription> & { install: string; failure: string | null };

async function describe(install: string, { terminal, services }: ServicesSession): Promise<Described> {
  try {
    return { ...(await describeSubscription(services, install, terminal.signal)), failure: null };
  } catch (error) {
    return { install, failure: maskText(toAppError(error).message) };
  }
}

function toText({ install, failure, trouble, action, ...of }: Described): string {
  if (failure !== null) return `${install}: ${stripControl(failure)}`;
  const missing = of.missingEventTypes ?? [];
  const rows = [
    ['install', install],
    ['endpoint', of.endpointId ?? '(none)'],
    ['delivers to', of.url ?? ''],
    ['status', of.status ?? ''],
    ['event types', missing.length === 0 ? 'all' : `missing: ${missing.join(', ')}`],
    ['failures in a row', of.consecutiveFailures ?? ''],
    ['last checked', of.checkedAt ?? 'never: a running "gangway start" does so'],
  ];
  const lines = rows.map(([title, value]) => [String(title), String(value)]);
  const table = formatTable(['', ''], lines).trimStart();
  return trouble === undefined || trouble === null
    ? table
    : `${table}\n  ! ${stripControl(trouble)}\n      → ${stripControl(action ?? '')}`;
}

export async function runEndpointRotate({ install: named }: NamedInstall, session: ServicesSession): Promise<Printed> {
  const { terminal, services } = session;
  const install = pickInstall(session, services.installs, named);
  const rotated = await rotateSecret(services, decidedBy(), install, terminal.signal);
  return printRotated(install, rotated);
}

export function printRotated(install: string, rotated: RotatedEndpoint): Printed {
  return { data: { install, ...rotated }, text: () => toRotatedText(install, rotated) };
}

function toRotatedText(install: string, rotated: RotatedEndpoint): string {
  const { endpointId, replaced, hadGap, hasConfiguredSecrets } = rotated;
  return [
    `${install} has the webhook endpoint ${endpointId} instead of ${replaced.join(', ')}.`,
    ...(hadGap ? ['There was no room for two, so for a moment there was none: the install is read again.'] : []),
    ...(hasConfiguredSecrets ? [`installs.${install}.webhookSecrets may be taken out of the configuration.`] : []),
  ].join('\n');
}

export async function runEndpointRedeliver(
  { install: named, delivery }: NamedInstall & { delivery: string | undefined },
  session: ServicesSession,
): Promise<Printed> {
  const { terminal, services, storage } = session;
  const install = pickInstall(session, services.installs, named);
  const asked = await redeliver(services, install, delivery, terminal.signal);
  await noteAct(storage.database, 'endpoint redeliver', install);
  return printRedelivered(install, asked);
}

export function printRedelivered(install: string, asked: Redelivered): Printed {
  return { data: { install, ...asked }, text: () => toRedeliveredText(asked) };
}

function toRedeliveredText({ requeued, status }: Redelivered): string {
  const count = requeued === null ? 'What failed' : `${requeued}`;
  const when = status === 'DISABLED' ? 'once the endpoint is enabled again' : 'within five minutes';
  return `${count} to be sent again, ${when}.`;
}

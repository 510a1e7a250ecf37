import { Command } from 'commander';
import type { Services } from '../app/services.ts';
import { toAppError } from '../domain/errors.ts';
import {
  type DescribedSubscription,
  describeSubscription,
  type Redelivered,
  redeliver,
} from '../installs/subscription/describe-subscription.ts';
import { type RotatedEndpoint, rotateEndpoint } from '../installs/subscription/rotate-endpoint.ts';
import { maskText } from '../lib/mask.ts';
import { stripControl } from '../lib/strip-control.ts';
import { print } from './command-context.ts';
import { endWith } from './ending.ts';
import { pickInstall } from './pick-install.ts';
import { formatTable } from './table.ts';
import type { Terminal } from './terminal.ts';
import { withWorksCallingNoTool } from './with-works.ts';

/** `gangway endpoint`: where the marketplace delivers to, and whether it does. */
export function createEndpointCommand(terminal: Terminal): Command {
  return new Command('endpoint')
    .description('the webhook endpoints at the marketplace: where it delivers to, and whether it does')
    .addCommand(createStatusCommand(terminal))
    .addCommand(createRotateCommand(terminal))
    .addCommand(createRedeliverCommand(terminal));
}

interface EndpointOptions {
  delivery?: string;
  json?: true;
}

const onlyOne = 'its name; not needed where there is one';

function createStatusCommand(terminal: Terminal): Command {
  return new Command('status')
    .description('ask the marketplace how the endpoints are doing')
    .argument('[install]', 'only that of this one')
    .option('--json', 'print one JSON object instead of text')
    .action((name: string | undefined, { json }: EndpointOptions, command: Command) =>
      withWorksCallingNoTool(terminal, command, true, async (works) => {
        const installs = name === undefined ? [...works.installs.keys()] : [pickInstall(command, works.installs, name)];
        const endpoints: Described[] = [];
        for (const install of installs) endpoints.push(await describe(terminal, works, install));
        print(terminal, json, { endpoints }, () => endpoints.map(toText).join('\n\n'));
        endWith(endpoints.some(({ failure }) => failure !== null) ? 1 : 0);
      }),
    );
}

type Described = Partial<DescribedSubscription> & { install: string; failure: string | null };

async function describe({ signal }: Terminal, { subscription }: Services, install: string): Promise<Described> {
  try {
    return { ...(await describeSubscription(subscription, install, signal)), failure: null };
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

function createRotateCommand(terminal: Terminal): Command {
  return new Command('rotate')
    .description('replace an endpoint and its secret, without a gap: both are accepted in between')
    .argument('[install]', onlyOne)
    .option('--json', 'print one JSON object instead of text')
    .action((name: string | undefined, { json }: EndpointOptions, command: Command) =>
      withWorksCallingNoTool(terminal, command, false, async (works) => {
        const install = pickInstall(command, works.installs, name);
        const { signal } = terminal;
        const rotated = await rotateEndpoint(works.subscription, install, { signal });
        print(terminal, json, { install, ...rotated }, () => toRotatedText(install, rotated));
      }),
    );
}

function toRotatedText(install: string, rotated: RotatedEndpoint): string {
  const { endpointId, replaced, hadGap, hasConfiguredSecrets } = rotated;
  return [
    `${install} has the webhook endpoint ${endpointId} in place of ${replaced.join(', ')}.`,
    ...(hadGap ? ['There was no room for two, so for a moment there was none: the install is read again.'] : []),
    ...(hasConfiguredSecrets ? [`installs.${install}.webhookSecrets may be taken out of the configuration.`] : []),
  ].join('\n');
}

function createRedeliverCommand(terminal: Terminal): Command {
  return new Command('redeliver')
    .description('have the marketplace send again what failed')
    .argument('[install]', onlyOne)
    .option('--delivery <id>', 'this one, whatever became of it: its id at the marketplace')
    .option('--json', 'print one JSON object instead of text')
    .action((name: string | undefined, { delivery, json }: EndpointOptions, command: Command) =>
      withWorksCallingNoTool(terminal, command, true, async (works) => {
        const install = pickInstall(command, works.installs, name);
        const { signal } = terminal;
        const asked = await redeliver(works.subscription, install, delivery, signal);
        print(terminal, json, { install, ...asked }, () => toRedeliveredText(asked));
      }),
    );
}

function toRedeliveredText({ requeued, status }: Redelivered): string {
  const count = requeued === null ? 'What failed' : `${requeued}`;
  const when = status === 'DISABLED' ? 'once the endpoint is enabled again' : 'within five minutes';
  return `${count} to be sent again, ${when}.`;
}

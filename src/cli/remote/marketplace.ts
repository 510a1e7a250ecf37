import type { Act } from '../../db/audit-store.ts';
import type { Server } from '../../domain/binding.ts';
import type { DispatchState } from '../../domain/notice.ts';
import type { Redelivered } from '../../installs/subscription/describe-subscription.ts';
import type { RotatedEndpoint } from '../../installs/subscription/rotate-endpoint.ts';
import type { RotatedToken } from '../../installs/tokens/rotate-token.ts';
import type { Trial } from '../../notify/channel.ts';
import type { ListedDispatch } from '../../notify/dispatch-store.ts';
import type { ContractDecision } from '../../operator/decide-contract.ts';
import type { Check } from '../../operator/doctor-checks.ts';
import type { ComparedGuidelines } from '../../operator/guidelines/compare-guidelines.ts';
import type { SyncedGuidelines } from '../../operator/guidelines/sync-guidelines.ts';
import type { ListedContract } from '../../operator/list-contracts.ts';
import type { ListedInstall } from '../../operator/list-installs.ts';
import type { ListedTokens } from '../../operator/list-tokens.ts';
import type { ToolServer } from '../../operator/tool-servers.ts';
import { type AuditFilter, printActs } from '../audit-command.ts';
import {
  type ContractEnd,
  type ContractFilter,
  type DecidedContract,
  type NamedContract,
  printContracts,
  printDecided,
} from '../contracts-command.ts';
import type { Printed } from '../define-command.ts';
import { printChecks } from '../doctor-command.ts';
import { type Described, printEndpoints, printRedelivered, printRotated } from '../endpoint-command.ts';
import {
  type ListedGuideline,
  type OfProject,
  printDiff,
  printGuidelines,
  printShown,
  printSynced,
} from '../guidelines-command.ts';
import { printInstalls, printRemoved } from '../installs-command.ts';
import { printNotifications, printTrials } from '../notifications-command.ts';
import { pickInstall } from '../pick-install.ts';
import type { RemoteSession } from '../session.ts';
import { printRotatedToken, printTokens, type TokenRotation } from '../token-command.ts';
import { printAccepted, printTools } from '../tools-command.ts';

/** What the marketplace says, what it has sent, and who is connected to it, as a running instance says. */

interface OfInstall {
  install: string | undefined;
}

export async function askGuidelinesList({ install }: OfInstall, remote: RemoteSession): Promise<Printed> {
  const { guidelines } = await remote.ask<{ guidelines: ListedGuideline[] }>('GET /guidelines', { query: { install } });
  return printGuidelines(guidelines);
}

export async function askGuidelinesDiff(given: OfProject, remote: RemoteSession): Promise<Printed> {
  return printDiff(await askCompared(given, remote));
}

export async function askGuidelinesShow(given: OfProject, remote: RemoteSession): Promise<Printed> {
  return printShown(await askCompared(given, remote));
}

async function askCompared({ install, project }: OfProject, remote: RemoteSession): Promise<ComparedGuidelines> {
  return await remote.ask<ComparedGuidelines>('GET /guidelines/compared', { query: { install, project } });
}

export async function askGuidelinesSync(
  { install, project, overwrite }: OfProject & { overwrite: boolean },
  remote: RemoteSession,
): Promise<Printed> {
  const body = { install, project, overwrite };
  return printSynced(await remote.ask<SyncedGuidelines>('POST /guidelines/sync', { body }));
}

export async function askContractsList(
  { install, status, budget, suspects, limit }: ContractFilter,
  remote: RemoteSession,
): Promise<Printed> {
  const query = { install, status, budget, suspects: suspects || undefined };
  return printContracts(await remote.list<ListedContract>('GET /contracts', query, limit));
}

export async function askContractsEnd(named: ContractEnd, remote: RemoteSession): Promise<Printed> {
  if (named.atMarketplace) return remote.misuse('--at-marketplace asks at the terminal, so it does not take --remote');
  return await decide('end', named, remote);
}

export async function askContractsReopen(named: NamedContract, remote: RemoteSession): Promise<Printed> {
  return await decide('reopen', named, remote);
}

async function decide(
  decision: ContractDecision,
  { contract, install }: NamedContract,
  remote: RemoteSession,
): Promise<Printed> {
  const operation = decision === 'end' ? 'POST /contracts/{contract}/end' : 'POST /contracts/{contract}/reopen';
  return printDecided(await remote.ask<DecidedContract>(operation, { params: { contract }, body: { install } }));
}

export async function askInstallsList(_given: object, remote: RemoteSession): Promise<Printed> {
  const { installs } = await remote.ask<{ installs: ListedInstall[] }>('GET /installs');
  return printInstalls(installs);
}

export async function askInstallsRemove(
  { install, acceptOrphans }: { install: string; acceptOrphans: boolean },
  remote: RemoteSession,
): Promise<Printed> {
  await remote.ask('POST /installs/{install}/remove', { params: { install }, body: { acceptOrphans } });
  return printRemoved(install);
}

export async function askToolsList(_given: object, remote: RemoteSession): Promise<Printed> {
  return printTools((await remote.ask<{ tools: ToolServer[] }>('GET /tools')).tools);
}

export async function askToolsAccept({ tool }: { tool: string }, remote: RemoteSession): Promise<Printed> {
  const { tool: _, ...server } = await remote.ask<Server & { tool: string }>('POST /tools/{tool}/accept', {
    params: { tool },
  });
  return printAccepted(tool, server);
}

export async function askEndpointStatus({ install }: OfInstall, remote: RemoteSession): Promise<Printed> {
  return printEndpoints(
    (await remote.ask<{ endpoints: Described[] }>('GET /endpoints', { query: { install } })).endpoints,
  );
}

export async function askEndpointRotate({ install: named }: OfInstall, remote: RemoteSession): Promise<Printed> {
  const install = await pickRemote(remote, named);
  const { install: _, ...rotated } = await remote.ask<RotatedEndpoint & { install: string }>(
    'POST /installs/{install}/endpoint/rotate',
    { params: { install } },
  );
  return printRotated(install, rotated);
}

export async function askEndpointRedeliver(
  { install: named, delivery }: OfInstall & { delivery: string | undefined },
  remote: RemoteSession,
): Promise<Printed> {
  const install = await pickRemote(remote, named);
  const { install: _, ...asked } = await remote.ask<Redelivered & { install: string }>(
    'POST /installs/{install}/endpoint/redeliver',
    { params: { install }, body: { delivery } },
  );
  return printRedelivered(install, asked);
}

export async function askTokenList({ install }: OfInstall, remote: RemoteSession): Promise<Printed> {
  return printTokens(await remote.ask<ListedTokens>('GET /tokens', { query: { install } }));
}

export async function askTokenRotate({ install: named, keep }: TokenRotation, remote: RemoteSession): Promise<Printed> {
  const install = await pickRemote(remote, named);
  const rotated = await remote.ask<RotatedToken>('POST /installs/{install}/token/rotate', {
    params: { install },
    body: { keep },
  });
  return printRotatedToken(install, rotated);
}

export async function askNotificationsList(
  { state, limit }: { state: DispatchState | undefined; limit: number },
  remote: RemoteSession,
): Promise<Printed> {
  return printNotifications(await remote.list<ListedDispatch>('GET /notifications', { state }, limit));
}

export async function askNotificationsTest(
  { channel }: { channel: string | undefined },
  remote: RemoteSession,
): Promise<Printed> {
  return printTrials((await remote.ask<{ trials: Trial[] }>('POST /notifications/test', { body: { channel } })).trials);
}

export async function askAuditList({ actor, before, limit }: AuditFilter, remote: RemoteSession): Promise<Printed> {
  return printActs(await remote.list<Act>('GET /acts', { actor, before }, limit));
}

export async function askDoctor({ rehearse }: { rehearse: boolean }, remote: RemoteSession): Promise<Printed> {
  if (rehearse) return remote.misuse("option '--rehearse' cannot be used with option '--remote'");
  return printChecks((await remote.ask<{ checks: Check[] }>('POST /doctor')).checks);
}

/** The install that a command is about, of those of the running instance: the named one, or the only one. */
async function pickRemote(session: RemoteSession, named: string | undefined): Promise<string> {
  const { installs } = await session.ask<{ installs: { install: string }[] }>('GET /installs');
  return pickInstall(session, new Map(installs.map(({ install }) => [install, install])), named);
}

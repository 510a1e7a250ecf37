import type { Check } from '../../operations/doctor/check.ts';
import { askSecret } from '../ask.ts';
import {
  type Connected,
  type ConnectOptions,
  printConnected,
  readToken,
  toAccount,
  toTokenName,
} from '../connect-command.ts';
import type { Printed } from '../define-command.ts';
import { printChecks } from '../doctor-command.ts';
import type { RemoteSession } from '../session.ts';
import { toCheckText } from '../texts.ts';

/** What a running instance does for commands that have a body of their own. */

/** A token that is not given here is the one that the instance has. */
export async function askConnect(options: ConnectOptions, remote: RemoteSession): Promise<Printed> {
  const { install, tokenFile, tool, projects, yes: relink, move, acceptOrphans, acceptOtherCustomer } = options;
  const { terminal } = remote;
  const { source, jobs } = toAccount(options);
  const token = readToken(tokenFile, remote.line) ?? (await askToken(remote, toTokenName(source, install)));
  const wait = `${Math.min(Math.ceil(options.wait / 1000), mostWaitSeconds)}s`;
  const body = { source, jobs, token, tool, projects, relink, move, acceptOrphans, acceptOtherCustomer, wait };
  const { checks, ...connected } = await remote.ask<Connected & { checks: Check[] }>(
    'POST /installs/{install}/connect',
    { params: { install }, body },
  );
  for (const check of checks) terminal.stderr.write(`${toCheckText(check, terminal.stderr)}\n`);
  return printConnected(connected);
}

/** So long the API waits at most. */
const mostWaitSeconds = 100;

/** Undefined if stdin is no terminal, or nothing is typed. */
async function askToken({ terminal }: RemoteSession, name: string): Promise<string | undefined> {
  if (terminal.stdin.isTTY !== true) return undefined;
  const typed = await askSecret(terminal, `${name} (nothing keeps the one it has): `);
  return typed === '' ? undefined : typed;
}

export async function askDoctor({ rehearse }: { rehearse: boolean }, remote: RemoteSession): Promise<Printed> {
  if (rehearse) return remote.misuse("option '--rehearse' cannot be used with option '--remote'");
  return printChecks((await remote.ask<{ checks: Check[] }>('POST /doctor')).checks);
}

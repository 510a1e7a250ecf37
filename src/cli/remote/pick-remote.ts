import { pickInstall } from '../pick-install.ts';
import type { RemoteSession } from '../session.ts';

/** The install that a command is about, of those of the running instance: the named one, or the only one. */
export async function pickRemote(session: RemoteSession, named: string | undefined): Promise<string> {
  const { installs } = await session.ask<{ installs: { install: string }[] }>('GET /installs');
  return pickInstall(session, new Map(installs.map(({ install }) => [install, install])), named);
}
